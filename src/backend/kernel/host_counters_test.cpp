#include "backend/kernel/host_counters.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cloche {
namespace {

class HostCounters : public testing::Test {
 protected:
  HostCounters() : directory_(testing::TempDir() + "/host-counters-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(directory_ + "/kernel");
  }
  ~HostCounters() override { std::filesystem::remove_all(directory_); }
  void set_pid_max(const char* value) { std::ofstream(directory_ + "/kernel/pid_max") << value; }

  std::string directory_;
};

TEST_F(HostCounters, SmallOne_IsNamedWithWhatToDo) {
  set_pid_max("32768\n");
  const Finding finding = examine_host_counters(directory_);
  EXPECT_EQ(finding.level, Finding::Level::warning);
  EXPECT_EQ(finding.detail, "kernel.pid_max is 32768");
  EXPECT_EQ(finding.advice, "sysctl -w kernel.pid_max=4194304");
}

TEST_F(HostCounters, LargeOrUnknownOnes_AreGood) {
  EXPECT_EQ(examine_host_counters(directory_).level, Finding::Level::good);
  set_pid_max("4194304\n");
  EXPECT_EQ(examine_host_counters(directory_).level, Finding::Level::good);
}

}  // namespace
}  // namespace cloche
