// Attacks on the runner of the program: on its descriptors and streams, and on the report of its end.
// programs/weak/naive.py is a runner without these protections.
#include <gmock/gmock.h>

#include "hostile/sandbox/attack.hpp"

namespace cloche::hostile {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

namespace {

// Not more was kept than allowed, and it was stopped because of its output.
void was_cut(const Exec::Collected& ran) {
  EXPECT_LE(ran.out.size(), mib(1).count);
  EXPECT_LE(ran.err.size(), mib(1).count);
  EXPECT_LE(ran.events.size(), mib(1).count);
  EXPECT_GT(ran.outcome.out.produced.count + ran.outcome.events.produced.count, mib(60).count);
}

void came_back_as_sent(const Exec::Collected& ran) {
  const auto begins = ran.out.find('\n') + 1;
  EXPECT_EQ(ran.out.substr(begins), ran.err);
  EXPECT_THAT(ran.err, HasSubstr(std::string("\xff\xfe\xed\xa0\x80\0\x1b]0;title\x07", 16)));
  EXPECT_TRUE(ran.err.ends_with("END"));
}

Attack end(std::string name, std::string how, Ending ending, std::string naive) {
  return {.name = std::move(name),
          .argv = {"protocol/ends", std::move(how)},
          .wall_limit = ending == Ending::wall_limit ? 2s : 30s,
          .endings = {ending},
          .weak = {.naive = std::move(naive)}};
}

}  // namespace

std::vector<Attack> protocol_attacks() {
  return {
      {.name = "Channel_CannotBeWritten", .argv = {"protocol/write_fds"}},
      {.name = "ForgedFrames_AreOutput",
       .argv = {"protocol/forge.py"},
       .endings = {Ending::exited},
       .judge =
           [](const Exec::Collected& ran) {
             EXPECT_EQ(ran.outcome.exit_code, 3);
             EXPECT_EQ(ran.out.size(), ran.err.size() + std::string("HELD forging\n").size());
             EXPECT_THAT(ran.err, HasSubstr("__RESULT__"));
           },
       .weak = {.naive = "in_band"}},
      {.name = "FloodOnBothStreams_IsCutAndEnded",
       .argv = {"protocol/flood", "both"},
       .endings = {Ending::output_limit},
       .judge = was_cut,
       .weak = {.naive = "unbounded"}},
      {.name = "LineWithoutEnd_IsCutAndEnded",
       .argv = {"protocol/flood", "line"},
       .endings = {Ending::output_limit},
       .judge = was_cut,
       .weak = {.naive = "unbounded"}},
      {.name = "FloodOfEvents_IsCutAndEnded",
       .argv = {"protocol/flood", "events"},
       .events = true,
       .endings = {Ending::output_limit},
       .judge = was_cut,
       .weak = {.naive = "unbounded_events"}},
      {.name = "AllBytes_ComeBackAsSent",
       .argv = {"protocol/bytes.py"},
       .endings = {Ending::exited},
       .judge = came_back_as_sent,
       .weak = {.naive = "text"}},
      {.name = "ClosedStreams_AreNoEnd",
       .argv = {"protocol/close_all"},
       .endings = {Ending::exited},
       .judge =
           [](const Exec::Collected& ran) {
             EXPECT_EQ(ran.outcome.exit_code, 7);
             EXPECT_GE(ran.outcome.wall, 400ms);
           },
       .weak = {.naive = "until_closed"}},
      {.name = "ChildThatHoldsTheStreams_KeepsNobodyWaiting",
       .argv = {"protocol/hold_output"},
       .endings = {Ending::exited},
       .judge =
           [](const Exec::Collected& ran) {
             EXPECT_EQ(ran.outcome.exit_code, 5);
             EXPECT_LT(ran.outcome.wall, 15s);
             // Thirty seconds of it would be three hundred.
             EXPECT_LT(ran.out.size(), 500U);
           },
       .weak = {.naive = "until_eof"}},
      {.name = "InputThatIsNotRead_BlocksNobody",
       .argv = {"protocol/deaf"},
       .input = 8 << 20,
       .endings = {Ending::exited},
       .judge =
           [](const Exec::Collected& ran) {
             EXPECT_EQ(ran.outcome.exit_code, 6);
             EXPECT_GT(ran.out.size(), 400'000U);
           },
       .weak = {.naive = "write_first"}},
      end("KillByItself_IsNoMemoryLimit", "killed", Ending::signalled, "by_code"),
      end("ExitCode137_IsNoMemoryLimit", "says_137", Ending::exited, "by_code"),
      end("ExitCode124_IsNoTimeLimit", "says_124", Ending::exited, "by_code"),
      end("SigxcpuByItself_IsNoCpuLimit", "xcpu", Ending::signalled, "by_code"),
      end("WordsOfALimit_AreWords", "words", Ending::exited, "by_code"),
      end("StopByItself_EndsAtTheTimeLimit", "stopped", Ending::wall_limit, "asks_to_end"),
  };
}

}  // namespace cloche::hostile
