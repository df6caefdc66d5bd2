#include "sandbox/memory_guard.hpp"

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <string>

namespace cloche {
namespace {

using testing::ElementsAre;

constexpr Bytes limit = mib(512);

// A sandbox whose memory use is what the test says. Programs that are killed write their name down.
class MemoryGuardTest : public testing::Test {
 protected:
  MemoryGuard::Place start(const std::string& name) {
    return guard->watch([this, name] { killed.push_back(name); });
  }
  // Until the guard has checked this many more times.
  void run_looks(int count) {
    const int wanted = looks + count;
    while (looks < wanted && loop.run_one() > 0) {
    }
  }

  asio::io_context loop;
  std::optional<Bytes> used = mib(10);
  int looks = 0;
  std::vector<std::string> killed;
  std::shared_ptr<MemoryGuard> guard =
      std::make_shared<MemoryGuard>(loop.get_executor(), [this]() -> std::optional<MemoryUse> {
        ++looks;
        if (!used) return std::nullopt;
        return MemoryUse{*used, limit};
      });
};

TEST_F(MemoryGuardTest, MemoryToSpare_KillsNoProgram) {
  const auto place = start("run");
  run_looks(3);
  EXPECT_THAT(killed, ElementsAre());
}

TEST_F(MemoryGuardTest, MemoryThatRunsOut_KillsTheProgram) {
  const auto place = start("run");
  used = mib(513);
  run_looks(1);
  EXPECT_THAT(killed, ElementsAre("run"));
}

TEST_F(MemoryGuardTest, MemoryThatIsAlreadyShort_KillsTheProgramThatStarts) {
  used = mib(600);
  const auto place = start("run");
  EXPECT_THAT(killed, ElementsAre("run"));
}

TEST_F(MemoryGuardTest, MemoryThatRunsOut_KillsTheLatestProgramFirst) {
  const auto first = start("first");
  auto second = start("second");
  used = mib(513);
  run_looks(1);
  EXPECT_THAT(killed, ElementsAre("second"));
  second.leave();
  used = mib(100);
  run_looks(2);
  EXPECT_THAT(killed, ElementsAre("second"));
}

TEST_F(MemoryGuardTest, MemoryThatStaysShort_KillsOneProgramMoreEachTime) {
  const auto first = start("first");
  const auto second = start("second");
  used = mib(513);
  run_looks(2);
  EXPECT_THAT(killed, ElementsAre("second", "first", "second"));
  run_looks(1);
  EXPECT_EQ(killed.size(), 5U);
}

TEST_F(MemoryGuardTest, ProgramThatHasEnded_IsNotKilled) {
  {
    const auto place = start("run");
  }
  used = mib(600);
  loop.run();
  EXPECT_THAT(killed, ElementsAre());
  const auto next = start("next");
  EXPECT_THAT(killed, ElementsAre("next"));
}

TEST_F(MemoryGuardTest, ProgramThatEndsWhileItIsKilled_IsForgotten) {
  MemoryGuard::Place place;
  place = guard->watch([&] {
    killed.emplace_back("run");
    place.leave();
  });
  used = mib(600);
  loop.run();
  EXPECT_THAT(killed, ElementsAre("run"));
}

TEST_F(MemoryGuardTest, MemoryThatCannotBeRead_LeavesProgramsAlone) {
  used = std::nullopt;
  const auto place = start("run");
  loop.run();
  EXPECT_THAT(killed, ElementsAre());
}

TEST_F(MemoryGuardTest, GuardThatIsGone_StopsLooking) {
  {
    const auto place = start("run");
  }
  guard.reset();
  loop.run();
  EXPECT_EQ(looks, 1);
}

TEST(MemoryGuardTimes, TimeToTheNextLook_ShrinksWithWhatIsLeft) {
  EXPECT_EQ(time_to_next_look({mib(10), limit}).count(), 200);
  EXPECT_EQ(time_to_next_look({mib(412), limit}).count(), 50);
  EXPECT_EQ(time_to_next_look({limit, limit}).count(), 5);
  EXPECT_EQ(time_to_next_look({mib(600), limit}).count(), 5);
}

}  // namespace
}  // namespace cloche
