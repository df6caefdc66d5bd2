// Runs and those who follow them, without a sandbox.
#include "session/runs/runs.hpp"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

namespace cloche::session {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

RunInfo followed() {
  RunInfo info;
  info.unattended = Unattended::cancelled;
  return info;
}

Task<RunEnd> print_and_end(RunObserver observer) {
  observer.output({Stream::out, "one"});
  co_await pause_for(1ms);
  observer.output({Stream::err, "two"});
  co_return RunResult();
}

RunTable::Work printing() {
  return [](RunObserver observer) { return print_and_end(std::move(observer)); };
}

// Ends when it is cancelled, and says so.
Task<RunEnd> wait_for_ever(std::shared_ptr<bool> cancelled) {
  struct Told {
    std::shared_ptr<bool> flag;
    ~Told() { *flag = true; }
  } const told{std::move(cancelled)};
  co_await pause_for(1h);
  co_return RunResult();
}

RunTable::Work endless(std::shared_ptr<bool> cancelled = std::make_shared<bool>()) {
  return [cancelled](const RunObserver&) { return wait_for_ever(cancelled); };
}

Task<std::vector<std::string>> read_all(RunReader reader) {
  std::vector<std::string> all;
  for (;;) {
    auto event = co_await reader.next();
    if (!event) co_return all;
    if (const auto* output = std::get_if<Output>(&event->what)) {
      all.push_back(output->bytes);
    } else {
      all.emplace_back("end");
    }
  }
}

struct RunTableTest : testing::Test {
  void run(std::function<Task<>(RunTable&, SessionUse&)> body) {
    std::exception_ptr thrown;
    asio::co_spawn(
        io,
        [&]() -> Task<> {
          auto session =
              std::make_shared<Session>(io.get_executor(), SessionKey{"t", "s"}, SessionOptions(), WallTime(), quotas);
          SessionUse use(session);
          RunTable runs(*session);
          std::exception_ptr failed;
          try {
            co_await body(runs, use);
          } catch (...) {
            failed = std::current_exception();
          }
          co_await runs.close();
          if (failed) std::rethrow_exception(failed);
        },
        [&](std::exception_ptr error) { thrown = error; });
    io.run();
    if (thrown) std::rethrow_exception(thrown);
  }

  asio::io_context io{1};
  auth::Quotas quotas{{}, Clocks().steady};
};

Task<RunEnd> throw_a_little_later() {
  co_await pause_for(1ms);
  throw std::out_of_range("a bug");
}

// No one reads it and no one takes it back: only its own end can end it.
TEST_F(RunTableTest, WorkThatThrows_EndsTheRunAtOnceWithAnInternalError) {
  run([](RunTable& runs, SessionUse& use) -> Task<> {
    RunTable::Work work = [](const RunObserver&) { return throw_a_little_later(); };
    RunInfo info;
    auto started = runs.start(use, std::move(info), {}, std::move(work));
    EXPECT_TRUE(started);
    if (!started) co_return;
    const auto thrown = *started;
    const bool ended = co_await thrown->wait(Deadline::after(5s));
    EXPECT_TRUE(ended) << "it looks as if it ran for ever";
    if (!ended) co_return;
    const auto* error = std::get_if<Error>(thrown->log().how());
    EXPECT_TRUE(error != nullptr && error->code == ErrorCode::internal);
    EXPECT_FALSE(runs.busy());
  });
}

TEST_F(RunTableTest, AnyNumberOfReaders_SeeTheSame_WheneverTheyCome) {
  run([](RunTable& runs, SessionUse& use) -> Task<> {
    auto started = runs.start(use, followed(), {}, printing()).value();
    EXPECT_TRUE(runs.busy());
    auto early = RunReader::at(started, 0).value();
    const auto first = co_await read_all(std::move(early));
    EXPECT_THAT(first, ElementsAre("one", "two", "end"));
    EXPECT_FALSE(started->running());
    EXPECT_FALSE(runs.busy());
    auto late = RunReader::at(started, 3).value();
    const auto rest = co_await read_all(std::move(late));
    EXPECT_THAT(rest, ElementsAre("two", "end"));
    EXPECT_FALSE(RunReader::at(started, 99));
  });
}

TEST_F(RunTableTest, Terminals_TakeRunsPlaces) {
  run([](RunTable& runs, SessionUse& use) -> Task<> {
    RunsOptions options;
    options.most_running = 2;
    runs.set_options(options);
    auto started = runs.start(use, followed(), {}, endless()).value();
    {
      const auto terminal = runs.admit();
      EXPECT_TRUE(terminal);
      EXPECT_TRUE(runs.busy());
      const auto second = runs.admit();
      EXPECT_TRUE(!second && second.error().code == ErrorCode::limit_reached);
      EXPECT_FALSE(runs.start(use, followed(), {}, endless()));
    }
    EXPECT_TRUE(runs.admit());
    co_return;
  });
}

TEST_F(RunTableTest, RunWithoutAReader_IsCalledOff) {
  run([](RunTable& runs, SessionUse& use) -> Task<> {
    RunsOptions options;
    options.unread_timeout = 30ms;
    runs.set_options(options);
    auto cancelled = std::make_shared<bool>(false);
    auto started = runs.start(use, followed(), {}, endless(cancelled)).value();
    {
      const auto reader = RunReader::at(started, 0).value();
      co_await pause_for(80ms);
      EXPECT_TRUE(started->running()) << "it is read";
    }
    const bool ended = co_await started->wait(Deadline::after(5s));
    EXPECT_TRUE(ended);
    EXPECT_TRUE(*cancelled);
    EXPECT_THAT(std::get<Error>(*started->log().how()).message, HasSubstr("no client was reading"));
  });
}

TEST_F(RunTableTest, ReaderThatComesBackInTime_KeepsTheRun) {
  run([](RunTable& runs, SessionUse& use) -> Task<> {
    RunsOptions options;
    options.unread_timeout = 200ms;
    runs.set_options(options);
    auto started = runs.start(use, followed(), {}, endless()).value();
    (void)RunReader::at(started, 0).value();
    co_await pause_for(50ms);
    const auto back = RunReader::at(started, 0).value();
    co_await pause_for(300ms);
    EXPECT_TRUE(started->running());
  });
}

TEST_F(RunTableTest, RunThatGoesOnUnattended_IsNotCalledOff) {
  run([](RunTable& runs, SessionUse& use) -> Task<> {
    RunsOptions options;
    options.unread_timeout = 1ms;
    runs.set_options(options);
    auto started = runs.start(use, RunInfo(), {}, endless()).value();
    co_await pause_for(50ms);
    EXPECT_TRUE(started->running());
    EXPECT_EQ(started->signal(15).error().code, ErrorCode::unavailable);
  });
}

TEST_F(RunTableTest, StoppedAndRemovedRun_IsGone) {
  run([](RunTable& runs, SessionUse& use) -> Task<> {
    auto cancelled = std::make_shared<bool>(false);
    auto started = runs.start(use, followed(), {}, endless(cancelled)).value();
    const auto removed = co_await runs.remove(started->id(), Deadline::after(5s));
    EXPECT_TRUE(removed);
    EXPECT_TRUE(*cancelled);
    EXPECT_EQ(runs.find(started->id()).error().code, ErrorCode::not_found);
    EXPECT_EQ(started->signal(15).error().code, ErrorCode::invalid_argument);
  });
}

TEST_F(RunTableTest, TooManyAtATime_AreRefused) {
  run([](RunTable& runs, SessionUse& use) -> Task<> {
    RunsOptions options;
    options.most_running = 2;
    runs.set_options(options);
    EXPECT_TRUE(runs.start(use, RunInfo(), {}, endless()));
    EXPECT_TRUE(runs.start(use, RunInfo(), {}, endless()));
    EXPECT_EQ(runs.start(use, RunInfo(), {}, endless()).error().code, ErrorCode::limit_reached);
    co_return;
  });
}

TEST_F(RunTableTest, EndedRuns_AreKeptUpToTheCaps) {
  run([](RunTable& runs, SessionUse& use) -> Task<> {
    RunsOptions options;
    options.most_kept = 2;
    runs.set_options(options);
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) {
      auto started = runs.start(use, RunInfo(), {}, printing()).value();
      ids.push_back(started->id());
      (void)co_await started->wait(Deadline::after(5s));
    }
    EXPECT_FALSE(runs.find(ids[0]));
    EXPECT_FALSE(runs.find(ids[1]));
    EXPECT_TRUE(runs.find(ids[2]));
    EXPECT_TRUE(runs.find(ids[3]));
    options.most_held = Bytes{10};
    runs.set_options(options);
    EXPECT_TRUE(runs.list().empty());
  });
}

// It has no sandbox that could be asked.
TEST_F(RunTableTest, RunsOfAFreshSession_AreKnownWithoutAsking) {
  run([](RunTable&, SessionUse& use) -> Task<> {
    auto runs = co_await Runs::of(use);
    EXPECT_TRUE(runs) << runs.error().message;
    EXPECT_TRUE((*runs)->list().empty());
    co_await (*runs)->close();
  });
}

TEST_F(RunTableTest, SessionThatEnds_EndsItsRunsAndFreesTheirPlaces) {
  std::shared_ptr<session::Run> started;
  auto cancelled = std::make_shared<bool>(false);
  run([&](RunTable& runs, SessionUse& use) -> Task<> {
    started = runs.start(use, followed(), {}, endless(cancelled)).value();
    const auto reader = RunReader::at(started, 0).value();
    co_await pause_for(1ms);
  });
  EXPECT_TRUE(*cancelled);
  ASSERT_FALSE(started->running());
  EXPECT_EQ(std::get<Error>(*started->log().how()).code, ErrorCode::sandbox_lost);
}

}  // namespace
}  // namespace cloche::session
