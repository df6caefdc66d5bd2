// The store of sessions: made on first use, kept apart by tenant, ended when idle or when asked, lost when their
// sandbox dies.
#include <signal.h>

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "sessions/with_store.hpp"
#include "support/host_processes.hpp"

namespace cloche {

namespace {

using session::EndMode;
using session::SessionOptions;
using session::SessionState;
using session::SessionStore;
using session::SessionUse;

Task<SessionUse> use(SessionStore& store, std::string who, std::string id) {
  auto used = co_await store.use(tenant(who), std::move(id), soon());
  EXPECT_TRUE(used) << used.error().message;
  if (!used) throw std::runtime_error("no session: " + used.error().message);
  co_return std::move(*used);
}

Task<std::string> run_in(SessionUse& session, std::string line) { return shell(session->lease(), std::move(line)); }

}  // namespace

class Sessions : public WithStore {};

TEST_P(Sessions, FirstUse_MakesOneThatIsThereForTheNext) {
  in_store([](SessionStore& store) -> Task<> {
    {
      SessionUse session = co_await use(store, "red", "s1");
      const std::string said = co_await run_in(session, "echo kept > file; pwd");
      EXPECT_EQ(said, session->work_dir() + "\n");
    }
    SessionUse session = co_await use(store, "red", "s1");
    const std::string said = co_await run_in(session, "cat file");
    EXPECT_EQ(said, "kept\n");
    EXPECT_EQ(store.counts().made, 1u);
  });
}

TEST_P(Sessions, SameIdOfAnotherTenant_IsAnotherSession) {
  in_store([](SessionStore& store) -> Task<> {
    SessionUse red = co_await use(store, "red", "s1");
    SessionUse blue = co_await use(store, "blue", "s1");
    EXPECT_NE(red->lease()->id().value, blue->lease()->id().value);
    EXPECT_EQ(store.list("red").size(), 1u);
    EXPECT_EQ(store.list(std::nullopt).size(), 2u);
    const auto unknown = store.find(tenant("green"), "s1");
    EXPECT_TRUE(!unknown && unknown.error().code == ErrorCode::not_found);
  });
}

TEST_P(Sessions, TwoFirstUsesAtOnce_ShareOneSession) {
  in_store([](SessionStore& store) -> Task<> {
    using asio::experimental::awaitable_operators::operator&&;
    auto [one, other] = co_await (use(store, "red", "s1") && use(store, "red", "s1"));
    EXPECT_EQ(&*one, &*other);
    EXPECT_EQ(store.counts().made, 1u);
  });
}

TEST_P(Sessions, BadNames_AreRefused) {
  in_store([](SessionStore& store) -> Task<> {
    for (const char* name : {"", "..", "a/b", "a b"}) {
      auto used = co_await store.use(tenant("red"), name, soon());
      EXPECT_TRUE(!used && used.error().code == ErrorCode::invalid_argument) << name;
    }
    SessionOptions options;
    options.profile = "no such profile";
    auto made = co_await store.create(tenant("red"), "s1", std::move(options), soon());
    EXPECT_TRUE(!made && made.error().code == ErrorCode::not_found);
    EXPECT_EQ(store.list(std::nullopt).size(), 0u);
  });
}

TEST_P(Sessions, MadeWithEnvironment_EveryProgramHasIt) {
  in_store([](SessionStore& store) -> Task<> {
    SessionOptions options;
    options.env["COLOUR"] = "red";
    auto made = co_await store.create(tenant("red"), "s1", options, soon());
    EXPECT_TRUE(made) << made.error().message;
    auto again = co_await store.create(tenant("red"), "s1", options, soon());
    EXPECT_TRUE(!again && again.error().code == ErrorCode::already_exists);
    SessionUse session = co_await use(store, "red", "s1");
    const std::string said = co_await run_in(session, "echo $COLOUR");
    EXPECT_EQ(said, "red\n");
  });
}

TEST_P(Sessions, SecretThatIsNotThere_LeavesNoSession) {
  in_store([](SessionStore& store) -> Task<> {
    SessionOptions options;
    options.secrets = {"NO_SUCH_SECRET_HERE"};
    auto made = co_await store.create(tenant("red"), "s1", std::move(options), soon());
    EXPECT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("NO_SUCH_SECRET_HERE"));
    EXPECT_EQ(store.list(std::nullopt).size(), 0u);
    SessionUse session = co_await use(store, "red", "s1");
  });
}

TEST_P(Sessions, OneTooMany_IsRefusedUntilOneEnds) {
  StoreSetup two;
  two.store.most = 2;
  two.quota.limits.sessions = 1;
  in_store(two, [](pool::Manager&, SessionStore& store) -> Task<> {
    {
      SessionUse red = co_await use(store, "red", "s1");
    }
    auto second = co_await store.use(tenant("red"), "s2", soon());
    EXPECT_TRUE(!second && second.error().code == ErrorCode::limit_reached);
    {
      SessionUse blue = co_await use(store, "blue", "s1");
    }
    auto third = co_await store.use(tenant("green"), "s1", soon());
    EXPECT_TRUE(!third && third.error().code == ErrorCode::limit_reached);
    auto ended = co_await store.end(tenant("red"), "s1", EndMode::wait, soon());
    EXPECT_TRUE(ended) << ended.error().message;
    {
      SessionUse red = co_await use(store, "red", "s2");
    }
  });
}

TEST_P(Sessions, IdleForTooLong_IsEndedButNotWhileItIsUsed) {
  StoreSetup brief;
  brief.store.idle_timeout = 1s;
  in_store(brief, [](pool::Manager&, SessionStore& store) -> Task<> {
    {
      SessionUse idle = co_await use(store, "red", "idle");
    }
    SessionUse busy = co_await use(store, "red", "busy");
    co_await eventually("the idle one is gone", [&] { return store.list("red").size() == 1; });
    EXPECT_EQ(store.list("red").front().key.id, "busy");
    EXPECT_EQ(store.counts().idled_out, 1u);
    const std::string said = co_await run_in(busy, "echo here");
    EXPECT_EQ(said, "here\n");
  });
}

TEST_P(Sessions, EndedWhileAProgramRuns_WaitsForItOrCutsIt) {
  in_store([](SessionStore& store) -> Task<> {
    using asio::experimental::awaitable_operators::operator&&;
    for (const EndMode mode : {EndMode::wait, EndMode::cut}) {
      auto in_use = std::make_shared<std::optional<SessionUse>>();
      SessionUse session = co_await use(store, "red", "s1");
      ExecSpec spec = ExecSpec::shell("echo on; sleep 2; echo end");
      spec.stdin_mode = Stdin::closed;
      auto started = co_await session->lease().start(std::move(spec), soon());
      EXPECT_TRUE(started) << started.error().message;
      auto first = co_await (*started)->next(soon());
      EXPECT_TRUE(first);
      in_use->emplace(std::move(session));
      const auto rest = [&]() -> Task<bool> {
        auto collected = co_await (*started)->collect(soon());
        EXPECT_TRUE(collected || collected.error().code == ErrorCode::sandbox_lost);
        in_use->reset();
        co_return collected.has_value();
      };
      const auto end = [&]() -> Task<bool> {
        auto ended = co_await store.end(tenant("red"), "s1", mode, soon());
        co_return ended.has_value();
      };
      auto [finished, ended] = co_await (rest() && end());
      EXPECT_TRUE(ended);
      EXPECT_EQ(finished, mode == EndMode::wait);
      EXPECT_EQ(store.list(std::nullopt).size(), 0u);
    }
  });
}

TEST_P(Sessions, SandboxThatDies_LosesTheSessionWhichSaysSoUntilMadeAnew) {
  in_store([this](SessionStore& store) -> Task<> {
    {
      SessionUse session = co_await use(store, "red", "s1");
      const pid_t first = testing_support::first_process_of(target(), session->lease()->id().value);
      EXPECT_GT(first, 1);
      if (first > 1) ::kill(first, SIGKILL);
      co_await eventually("it is lost", [&] { return session->state() == SessionState::lost; });
    }
    auto used = co_await store.use(tenant("red"), "s1", soon());
    EXPECT_TRUE(!used && used.error().code == ErrorCode::sandbox_lost) << (used ? "used" : used.error().message);
    EXPECT_EQ(store.list("red").front().state, SessionState::lost);
    EXPECT_EQ(store.counts().lost, 1u);
    SessionOptions defaults;
    auto made = co_await store.create(tenant("red"), "s1", std::move(defaults), soon());
    EXPECT_TRUE(made) << made.error().message;
    SessionUse session = co_await use(store, "red", "s1");
    const std::string said = co_await run_in(session, "ls; echo new");
    EXPECT_EQ(said, "new\n");
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Sessions, testing::ValuesIn(testing_support::all_targets()),
                         [](const auto& target) { return target.param.name(); });

}  // namespace cloche
