#include "agent/link/loop.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>

#include "agent/link/descriptors.hpp"

namespace cloche::agent {
namespace {

using namespace std::chrono_literals;

// The CPU time of this process: what a spinning loop would use, however busy the machine is.
std::chrono::nanoseconds processor_time() {
  timespec time = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::chrono::nanoseconds used_while_waiting(Loop& loop) {
  const auto before = processor_time();
  const auto timer = loop.after(300ms, [&] { loop.stop(); });
  loop.run();
  return processor_time() - before;
}

TEST(Loop, PausedReaderWhoseWriterIsGone_Sleeps) {
  Loop loop;
  auto pipe = make_pipe().value();
  int called = 0;
  auto watch = loop.watch(pipe.first.get(), EPOLLIN, [&](std::uint32_t) { ++called; });
  watch.want(0);
  pipe.second.reset();
  EXPECT_LT(used_while_waiting(loop), 30ms);
  EXPECT_EQ(called, 0);
}

TEST(Loop, PausedWriterWhoseReaderIsGone_Sleeps) {
  Loop loop;
  auto pipe = make_pipe().value();
  int called = 0;
  const auto watch = loop.watch(pipe.second.get(), 0, [&](std::uint32_t) { ++called; });
  pipe.first.reset();
  EXPECT_LT(used_while_waiting(loop), 30ms);
  EXPECT_EQ(called, 0);
}

TEST(Loop, PausedAndWantedAgain_TellsOfWhatCameMeanwhile) {
  Loop loop;
  auto pipe = make_pipe().value();
  std::uint32_t told = 0;
  auto watch = loop.watch(pipe.first.get(), EPOLLIN, [&](std::uint32_t ready) {
    told = ready;
    loop.stop();
  });
  watch.want(0);
  pipe.second.reset();
  const auto timer = loop.after(1ms, [&] { watch.want(EPOLLIN); });
  loop.run();
  EXPECT_NE(told & EPOLLHUP, 0u);
}

// Both are ready in the same round; the one that is called first disables the other.
TEST(Loop, PausedOrRemovedByAnotherInTheSameRound_IsNotCalled) {
  for (const bool removed : {false, true}) {
    Loop loop;
    auto one = make_pipe().value();
    auto other = make_pipe().value();
    ASSERT_EQ(::write(one.second.get(), "x", 1), 1);
    ASSERT_EQ(::write(other.second.get(), "x", 1), 1);
    int called = 0;
    Loop::FdWatcher first;
    Loop::FdWatcher second;
    const auto silence = [&](Loop::FdWatcher& watch) {
      ++called;
      loop.stop();
      if (removed) {
        watch.reset();
      } else {
        watch.want(0);
      }
    };
    first = loop.watch(one.first.get(), EPOLLIN, [&](std::uint32_t) { silence(second); });
    second = loop.watch(other.first.get(), EPOLLIN, [&](std::uint32_t) { silence(first); });
    loop.run();
    EXPECT_EQ(called, 1);
  }
}

}  // namespace
}  // namespace cloche::agent
