#include "host/uid_overlap.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cloche {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class UidOverlap : public testing::Test {
 public:
  UidOverlap() {
    std::string name = testing::TempDir() + "uid_overlap_XXXXXX";
    const int fd = ::mkstemp(name.data());
    if (fd >= 0) ::close(fd);
    file_ = name;
    options_.docker_host = "unix:///var/run/docker.sock";
  }
  ~UidOverlap() override { std::filesystem::remove(file_); }

 protected:
  std::vector<HostFinding> with(const std::string& subordinate) {
    std::ofstream(file_, std::ios::trunc) << subordinate;
    return examine_uid_overlap(options_, file_);
  }

  std::string file_;
  EngineOptions options_;
};

TEST_F(UidOverlap, DefaultsAndTheUsualSubordinateUids_AreApart) {
  const auto findings = with("ann:100000:65536\nbob:165536:65536\n");
  ASSERT_THAT(findings, SizeIs(2));
  for (const HostFinding& finding : findings) {
    EXPECT_EQ(finding.level, HostFinding::Level::good) << finding.detail;
    EXPECT_EQ(finding.advice, "");
  }
  EXPECT_EQ(findings[1].detail, "2093056 to 2097151: no other range has them");
}

TEST_F(UidOverlap, DockersUidsInARangeOfOci_AreReported) {
  options_.docker_first_uid = 0x7000'0000 - 10;
  options_.docker_uids = 10;
  EXPECT_EQ(with("")[1].level, HostFinding::Level::good) << "the last one is below the first range";
  options_.docker_uids = 11;
  const HostFinding finding = with("")[1];
  EXPECT_EQ(finding.backend, "docker");
  EXPECT_EQ(finding.level, HostFinding::Level::warning);
  EXPECT_EQ(finding.detail,
            "1879048182 to 1879048192 overlap with the ranges of the oci backend (1879048192 to 2147483647)");
  EXPECT_THAT(finding.advice, HasSubstr("docker.first_uid"));
}

TEST_F(UidOverlap, SubordinateUidsInEither_AreReported) {
  const auto findings = with("ann:2093000:57\nbob:2147483647:1\n");
  EXPECT_EQ(findings[0].backend, "oci");
  EXPECT_EQ(findings[0].level, HostFinding::Level::warning);
  EXPECT_THAT(findings[0].detail, HasSubstr("overlap with the subordinate uids of bob"));
  EXPECT_EQ(findings[1].level, HostFinding::Level::warning);
  EXPECT_THAT(findings[1].detail, HasSubstr("overlap with the subordinate uids of ann"));
}

TEST_F(UidOverlap, NoUidsOfDockerOnThisHost_HaveNoFinding) {
  options_.docker_uids = 0;
  EXPECT_THAT(with(""), SizeIs(1));
  options_.docker_uids = 10;
  options_.docker_host = "tcp://elsewhere:2376";
  EXPECT_THAT(with(""), SizeIs(1));
}

TEST_F(UidOverlap, OtherLinesOfTheFile_AreSkipped) {
  const auto findings = with("# comment\nann\nann:2093056\nann:x:1\nann:2093056:1x\n:\nann:99999999999:1\n\n");
  EXPECT_EQ(findings[1].level, HostFinding::Level::good) << findings[1].detail;
  EXPECT_THAT(examine_uid_overlap(options_, file_ + ".missing"), SizeIs(2));
}

}  // namespace
}  // namespace cloche
