#include "agent/kernel_probe.hpp"

#include <gtest/gtest.h>

namespace cloche::agent {
namespace {

TEST(KernelProbe, FirstLineOfGvisorsLog_IsRecognised) {
  EXPECT_TRUE(is_log_of_gvisor("<6>[   0.000000] Starting gVisor...\n<6>[   0.493170] Forking spaghetti code...\n"));
}

TEST(KernelProbe, LogOfLinux_IsNotGvisorWhateverProgramsAreCalled) {
  EXPECT_FALSE(is_log_of_gvisor(""));
  EXPECT_FALSE(is_log_of_gvisor("<5>[    0.000000] Linux version 6.1.0-13-amd64\n"));
  EXPECT_FALSE(is_log_of_gvisor("<6>[  12.345678] Starting gVisor...[77]: segfault at 0\n"));
  EXPECT_FALSE(is_log_of_gvisor("<6>[    0.100000] x\n<6>[   0.000000] Starting gVisor...\n"));
}

TEST(KernelProbe, VersionOfLinux_IsNotGvisor) {
  EXPECT_TRUE(is_version_of_gvisor("#1 SMP Sun Jan 10 15:06:54 PST 2016"));
  EXPECT_FALSE(is_version_of_gvisor("#1 SMP PREEMPT_DYNAMIC Debian 6.1.55-1 (2023-09-29)"));
  EXPECT_FALSE(is_version_of_gvisor(""));
}

}  // namespace
}  // namespace cloche::agent
