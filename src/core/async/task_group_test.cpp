#include "core/async/task_group.hpp"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <sstream>

#include "core/async/exceptions.hpp"
#include "core/async/shielded.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;

TEST(TaskGroup, TaskThatWaitsForever_EndsAtShutDown) {
  asio::io_context io;
  TaskGroup group(io.get_executor());
  bool ended = false;
  group.spawn("waits", [&]() -> Task<> {
    struct Mark {
      bool& flag;
      ~Mark() { flag = true; }
    } mark{ended};
    Event never(co_await asio::this_coro::executor);
    co_await never.wait();
  });
  bool joined = false;
  asio::co_spawn(
      io,
      [&]() -> Task<> {
        co_await pause_for(1ms);
        co_await group.shut_down();
        joined = true;
      },
      asio::detached);
  io.run();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(joined);
  EXPECT_EQ(group.size(), 0u);
}

TEST(TaskGroup, CallerOfShutDownThatIsCancelledMeanwhile_JoinsAllAndIsCancelledAfterwards) {
  asio::io_context io;
  TaskGroup outer(io.get_executor());
  TaskGroup inner(io.get_executor());
  Event let_go(io.get_executor());
  bool joined = false;
  bool went_on = false;
  inner.spawn("takes its time", [&]() -> Task<> {
    auto slow = [&]() -> Task<> { co_await let_go.wait(); };
    co_await shielded(std::move(slow));
  });
  outer.spawn("shuts down", [&]() -> Task<> {
    co_await inner.shut_down();
    joined = inner.size() == 0;
    co_await pause_for(1h);
    went_on = true;
  });
  asio::co_spawn(
      io,
      [&]() -> Task<> {
        co_await pause_for(1ms);
        outer.cancel();
        co_await pause_for(1ms);
        let_go.notify();
        co_await outer.join();
      },
      asio::detached);
  io.run();
  EXPECT_TRUE(joined);
  EXPECT_FALSE(went_on);
}

TEST(TaskGroup, TaskThatThrows_LeavesTheOthersRunning) {
  asio::io_context io;
  TaskGroup group(io.get_executor());
  int done = 0;
  group.spawn("throws", []() -> Task<> {
    throw std::runtime_error("on purpose");
    co_return;
  });
  group.spawn("works", [&]() -> Task<> {
    co_await pause_for(1ms);
    ++done;
  });
  io.run();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(group.size(), 0u);
}

Task<> wait_for_ever() {
  Event never(co_await asio::this_coro::executor);
  for (;;) co_await never.wait();
}

TEST(TaskGroup, TaskSpawnedAfterCancel_IsNotStarted) {
  asio::io_context io;
  TaskGroup group(io.get_executor());
  group.cancel();
  bool started = false;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  EXPECT_FALSE(group.spawn("late", [&started, held = std::move(held)]() -> Task<> {
    started = true;
    co_return;
  }));
  io.run();
  EXPECT_FALSE(started);
  EXPECT_TRUE(watched.expired()) << "what it was to hold is still held";
  EXPECT_EQ(group.size(), 0u);
}

// Like a task that continues with its cleanup: it must not keep the group from ending.
TEST(TaskGroup, CancelledTaskThatSpawnsAnother_IsJoinedWithoutIt) {
  asio::io_context io;
  TaskGroup group(io.get_executor());
  group.spawn("first", [&]() -> Task<> {
    struct SpawnAnother {
      TaskGroup& group;
      ~SpawnAnother() {
        group.spawn("second", [] { return wait_for_ever(); });
      }
    } const another{group};
    co_await wait_for_ever();
  });
  bool joined = false;
  asio::co_spawn(
      io,
      [&]() -> Task<> {
        co_await group.shut_down();
        joined = true;
      },
      asio::detached);
  io.run();
  EXPECT_TRUE(joined);
}

// A group with tasks that end while others are still to be notified.
TEST(TaskGroup, CancelOfMany_ReachesEachExactlyOnce) {
  asio::io_context io;
  TaskGroup group(io.get_executor());
  int ended = 0;
  for (int i = 0; i < 1000; ++i) {
    group.spawn("waits", [&]() -> Task<> {
      struct Mark {
        int& count;
        ~Mark() { ++count; }
      } const mark{ended};
      co_await wait_for_ever();
    });
  }
  group.cancel();
  group.cancel();
  io.run();
  EXPECT_EQ(ended, 1000);
  EXPECT_EQ(group.size(), 0u);
}

TEST(TaskGroup, TaskCancelledInsideTwoAtOnce_IsNoFailure) {
  using asio::experimental::awaitable_operators::operator&&;
  std::ostringstream logged;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(logged)));
  asio::io_context io;
  TaskGroup group(io.get_executor());
  group.spawn("both", []() -> Task<> { co_await (wait_for_ever() && wait_for_ever()); });
  group.cancel();
  io.run();
  spdlog::set_default_logger(before);
  EXPECT_EQ(logged.str(), "");
}

TEST(Event, NotifyAndDeadline_BothWake) {
  asio::io_context io;
  Event event(io.get_executor());
  int woken = 0;
  asio::co_spawn(
      io,
      [&]() -> Task<> {
        co_await event.wait(Deadline::after(1h));
        ++woken;
        co_await event.wait(Deadline::after(1ms));
        ++woken;
      },
      asio::detached);
  asio::co_spawn(
      io,
      [&]() -> Task<> {
        co_await pause_for(1ms);
        event.notify();
      },
      asio::detached);
  io.run();
  EXPECT_EQ(woken, 2);
}

}  // namespace
}  // namespace cloche
