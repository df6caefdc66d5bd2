#include "sandbox/agent_log.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

TEST(AgentLog, SplitLines_AreJoinedAndMadePrintable) {
  AgentLog log;
  const auto now = AgentLog::Clock::now();
  EXPECT_EQ(log.take("one\ntw", now), Lines{"one"});
  EXPECT_EQ(log.take("o \x1b[31m\xff\n\n", now), Lines{"two ?[31m?"});
}

TEST(AgentLog, EndlessLine_IsCut) {
  AgentLog log;
  const auto now = AgentLog::Clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(log.take(std::string(10'000, 'x'), now).empty());
  EXPECT_EQ(log.take("\n", now), Lines{std::string(300, 'x')});
}

TEST(AgentLog, Flood_IsCountedAndToldLater) {
  AgentLog log;
  const auto now = AgentLog::Clock::now();
  std::size_t logged = 0;
  for (int i = 0; i < 1000; ++i) logged += log.take("again\n", now).size();
  EXPECT_EQ(logged, 20u);
  EXPECT_EQ(log.take("later\n", now + 61s), Lines{"later (980 earlier lines omitted)"});
}

}  // namespace
}  // namespace cloche
