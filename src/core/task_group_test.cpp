#include "core/task_group.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "core/shielded.hpp"

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
