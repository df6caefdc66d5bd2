#include "agent/exec/pumps.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/link/descriptors.hpp"

namespace cloche::agent {
namespace {

using namespace std::chrono_literals;

struct Taken {
  std::string bytes;
  std::size_t room = SIZE_MAX;
  bool ended = false;
  bool over = false;

  ReadPump::Taker taker(Loop& loop) {
    return {.room = [this] { return room; },
            .bytes = [this](std::string_view more) { bytes += more; },
            .end =
                [this, &loop] {
                  ended = true;
                  loop.stop();
                },
            .over_stop_cap = [this] { over = true; }};
  }
};

TEST(ReadPump, BytesOverTheKeepCap_AreCountedAndDropped) {
  Loop loop;
  auto pipe = make_pipe().value();
  Taken taken;
  ReadPump pump(loop, std::move(pipe.first), {.keep = 4, .stop = 8}, taken.taker(loop));
  ASSERT_EQ(::write(pipe.second.get(), "123456789", 9), 9);
  pipe.second.reset();
  loop.run();
  EXPECT_EQ(taken.bytes, "1234");
  EXPECT_EQ(pump.produced(), 9u);
  EXPECT_EQ(pump.dropped(), 5u);
  EXPECT_TRUE(taken.over);
}

TEST(ReadPump, TakerWithoutRoom_IsGivenNothingUntilResume) {
  Loop loop;
  auto pipe = make_pipe().value();
  Taken taken;
  taken.room = 0;
  ReadPump pump(loop, std::move(pipe.first), {}, taken.taker(loop));
  ASSERT_EQ(::write(pipe.second.get(), "abc", 3), 3);
  pipe.second.reset();
  auto timer = loop.after(20ms, [&] {
    EXPECT_EQ(taken.bytes, "");
    taken.room = 2;
    pump.resume();
  });
  loop.run();
  EXPECT_EQ(taken.bytes, "abc");
}

TEST(ReadPump, WriteEndHeldByAStranger_DoesNotKeepItFromFinishing) {
  Loop loop;
  auto pipe = make_pipe().value();
  Taken taken;
  ReadPump pump(loop, std::move(pipe.first), {}, taken.taker(loop));
  ASSERT_EQ(::write(pipe.second.get(), "last", 4), 4);
  pump.finish();
  EXPECT_TRUE(taken.ended);
  EXPECT_EQ(taken.bytes, "last");
}

TEST(WritePump, ReaderThatIsGone_IsNotWaitedFor) {
  ::signal(SIGPIPE, SIG_IGN);
  Loop loop;
  auto pipe = make_pipe().value();
  std::size_t used = 0;
  WritePump pump(loop, std::move(pipe.second), [&](std::size_t n) { used += n; });
  pipe.first.reset();
  pump.write("nobody reads this");
  pump.write("nor this");
  EXPECT_TRUE(pump.ended());
  EXPECT_EQ(used, 25u) << "credit for what was thrown away is given back";
}

TEST(WritePump, MoreThanThePipeHolds_GoesOutAsItIsRead) {
  Loop loop;
  auto pipe = make_pipe().value();
  std::size_t used = 0;
  const std::string much(1 << 20, 'x');
  WritePump out(loop, std::move(pipe.second), [&](std::size_t n) { used += n; });
  Taken taken;
  ReadPump in(loop, std::move(pipe.first), {}, taken.taker(loop));
  out.write(much);
  out.end();
  loop.run();
  EXPECT_EQ(taken.bytes.size(), much.size());
  EXPECT_EQ(used, much.size());
}

}  // namespace
}  // namespace cloche::agent
