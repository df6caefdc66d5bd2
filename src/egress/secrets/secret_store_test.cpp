#include "egress/secrets/secret_store.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>

#include "auth/testing/scratch.hpp"
#include "egress/secrets/redactor.hpp"
#include "http/testing/scripted_server.hpp"
#include "support/result_matchers.hpp"

namespace cloche::egress {
namespace {

using namespace asio::experimental::awaitable_operators;
using auth::testing::file_text;
using auth::testing::put_file;
using testing_support::FailsSaying;
using testing_support::FailsWith;
using testing_support::Succeeds;
using Source = EgressSecret::Source;

class Secrets : public ::testing::Test {
 protected:
  void run(const std::function<Task<>(SecretStore&)>& body) {
    SecretStore store(io_.get_executor(), sources_, clock_.clocks().steady);
    const auto all = [&]() -> Task<> { co_await body(store); };
    EXPECT_TRUE(http::testing::run_to_end(io_, all, std::chrono::seconds(60)));
  }
  void name(const std::string& name, Source source, std::string text) {
    EgressSecret& it = sources_.named[name];
    it.source = source;
    it.text = std::move(text);
  }
  void name_command(const std::string& name, const std::string& script) {
    EgressSecret& it = sources_.named[name];
    it.source = Source::command;
    it.command = {"sh", "-c", script};
  }

  asio::io_context io_;
  auth::testing::ScratchDir scratch_;
  auth::testing::HandClock clock_;
  SecretSources sources_;
};

std::string value(const Result<std::shared_ptr<const Secret>>& got) {
  return got ? (*got)->value : "error: " + got.error().message;
}

TEST_F(Secrets, EachKind_IsReadByName) {
  put_file(scratch_ / "file", "from the file\n");
  name("v", Source::value, "the value itself");
  name("f", Source::file, scratch_ / "file");
  name_command("c", "echo from the command");
  run([](SecretStore& store) -> Task<> {
    EXPECT_EQ(value(co_await store.get("v")), "the value itself");
    EXPECT_EQ(value(co_await store.get("f")), "from the file");
    EXPECT_EQ(value(co_await store.get("c")), "from the command");
    EXPECT_THAT(co_await store.get("missing"), FailsWith(ErrorCode::not_found));
  });
}

TEST_F(Secrets, UnknownName_IsNotLookedUpAnywhere) {
  ::setenv("CLOCHE_TEST_SECRET", "from the environment", 1);
  run([](SecretStore& store) -> Task<> {
    EXPECT_THAT(co_await store.get("CLOCHE_TEST_SECRET"), FailsWith(ErrorCode::not_found));
    EXPECT_THAT(co_await store.get("PATH"), FailsWith(ErrorCode::not_found));
  });
  ::unsetenv("CLOCHE_TEST_SECRET");
}

TEST_F(Secrets, ValueThatChanges_IsNoticedSoonAndNotAtOnce) {
  put_file(scratch_ / "file", "the first value");
  name("f", Source::file, scratch_ / "file");
  run([this](SecretStore& store) -> Task<> {
    EXPECT_EQ(value(co_await store.get("f")), "the first value");
    put_file(scratch_ / "file", "the second value");
    EXPECT_EQ(value(co_await store.get("f")), "the first value");
    clock_.pass(std::chrono::seconds(30));
    EXPECT_EQ(value(co_await store.get("f")), "the second value");
  });
}

TEST_F(Secrets, FileThatVanishes_IsAnErrorUntilItIsBack) {
  put_file(scratch_ / "file", "the first value");
  name("f", Source::file, scratch_ / "file");
  run([this](SecretStore& store) -> Task<> {
    EXPECT_EQ(value(co_await store.get("f")), "the first value");
    ::unlink((scratch_ / "file").c_str());
    clock_.pass(std::chrono::seconds(30));
    EXPECT_THAT(co_await store.get("f"), FailsWith(ErrorCode::not_found));
    // The old value is not used any more.
    EXPECT_THAT(co_await store.get("f"), FailsWith(ErrorCode::not_found));
    put_file(scratch_ / "file", "the second value");
    EXPECT_EQ(value(co_await store.get("f")), "the second value");
  });
}

TEST_F(Secrets, ManyAtOnce_RunTheCommandOnce) {
  name_command("c", "echo x >> " + (scratch_ / "runs") + "; echo from the command");
  run([this](SecretStore& store) -> Task<> {
    auto [a, b, c] = co_await (store.get("c") && store.get("c") && store.get("c"));
    EXPECT_EQ(value(a), "from the command");
    EXPECT_EQ(value(b), "from the command");
    EXPECT_EQ(value(c), "from the command");
    EXPECT_EQ(file_text(scratch_ / "runs"), "x\n");
  });
}

TEST_F(Secrets, CommandThatHangs_TimesOutAndKeepsNoOtherWaiting) {
  name_command("slow", "exec sleep 1000");
  name_command("quick", "echo from the command");
  sources_.command_timeout = std::chrono::milliseconds(300);
  run([](SecretStore& store) -> Task<> {
    auto [slow, quick] = co_await (store.get("slow") && store.get("quick"));
    EXPECT_THAT(slow, FailsSaying(ErrorCode::timeout, "secret 'slow'"));
    EXPECT_EQ(value(quick), "from the command");
  });
}

TEST_F(Secrets, Encodings_AreThoseOfTheValue) {
  name("v", Source::value, "the value itself");
  run([](SecretStore& store) -> Task<> {
    const auto got = co_await store.get("v");
    EXPECT_THAT(got, Succeeds());
    if (!got) co_return;
    const std::vector finders{(*got)->encodings};
    Redactor redactor(finders);
    EXPECT_EQ(redactor.whole("x the value itself y"), "x **************** y");
  });
}

TEST_F(Secrets, StoreThatIsDestroyed_EndsItsCommands) {
  ASSERT_EQ(::mkfifo((scratch_ / "started").c_str(), 0600), 0);
  name_command("c", "echo > " + (scratch_ / "started") + "; exec sleep 1000");
  auto store = std::make_unique<SecretStore>(io_.get_executor(), sources_);
  asio::cancellation_signal cancel;
  bool ended = false;
  asio::co_spawn(io_, store->get("c"),
                 asio::bind_cancellation_slot(cancel.slot(), [&](const std::exception_ptr& error, auto) {
                   ended = true;
                   EXPECT_TRUE(error);
                 }));
  io_.poll();
  EXPECT_EQ(file_text(scratch_ / "started"), "\n");  // blocks until the command is there
  cancel.emit(asio::cancellation_type::terminal);
  io_.poll();
  EXPECT_TRUE(ended);
  store.reset();  // returns before the command would have ended
  io_.run();
}

}  // namespace
}  // namespace cloche::egress
