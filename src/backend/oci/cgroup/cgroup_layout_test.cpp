#include "backend/oci/cgroup/cgroup_layout.hpp"

#include <gtest/gtest.h>

namespace cloche::oci {
namespace {

constexpr const char* v2_only =
    "25 30 0:23 / /sys rw,nosuid - sysfs sysfs rw\n"
    "35 25 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 "
    "rw,nsdelegate,memory_recursiveprot\n";

constexpr const char* v1_only =
    "31 23 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:10 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/memory rw,nosuid shared:11 - cgroup cgroup rw,memory\n"
    "34 31 0:31 / /sys/fs/cgroup/pids rw,nosuid shared:12 - cgroup cgroup rw,pids\n"
    "35 31 0:32 / /sys/fs/cgroup/systemd rw,nosuid shared:13 - cgroup cgroup rw,xattr,name=systemd\n";

// systemd's own hybrid: the v2 hierarchy has no controller.
constexpr const char* systemd_hybrid =
    "32 31 0:29 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw,nsdelegate\n"
    "33 31 0:30 / /sys/fs/cgroup/systemd rw,nosuid shared:11 - cgroup cgroup rw,xattr,name=systemd\n"
    "34 31 0:31 / /sys/fs/cgroup/memory rw,nosuid shared:12 - cgroup cgroup rw,memory\n"
    "35 31 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:13 - cgroup cgroup rw,cpu,cpuacct\n"
    "36 31 0:33 / /sys/fs/cgroup/pids rw,nosuid shared:14 - cgroup cgroup rw,pids\n";

TEST(CgroupLayout, V2_HasOneHierarchy) {
  const auto layout = parse_cgroup_layout(v2_only);
  EXPECT_EQ(layout.kind(), "v2");
  ASSERT_NE(layout.v2(), nullptr);
  EXPECT_EQ(layout.v2()->mount_point, "/sys/fs/cgroup");
  EXPECT_EQ(layout.v1("memory"), nullptr);
}

TEST(CgroupLayout, V1_HasAHierarchyForEachController) {
  const auto layout = parse_cgroup_layout(v1_only);
  EXPECT_EQ(layout.kind(), "v1");
  EXPECT_EQ(layout.v2(), nullptr);
  ASSERT_NE(layout.v1("cpu"), nullptr);
  EXPECT_EQ(layout.v1("cpu"), layout.v1("cpuacct"));
  EXPECT_EQ(layout.v1("cpu")->mount_point, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(layout.v1("pids")->mount_point, "/sys/fs/cgroup/pids");
  EXPECT_EQ(layout.v1("hugetlb"), nullptr);
}

TEST(CgroupLayout, Hybrid_HasBoth) {
  const auto layout = parse_cgroup_layout(systemd_hybrid);
  EXPECT_EQ(layout.kind(), "hybrid");
  ASSERT_NE(layout.v2(), nullptr);
  EXPECT_EQ(layout.v2()->mount_point, "/sys/fs/cgroup/unified");
  ASSERT_NE(layout.v1("memory"), nullptr);
}

TEST(CgroupLayout, MountedAgainForAContainer_TheWholeOneCounts) {
  const auto layout = parse_cgroup_layout(
      "40 31 0:30 /docker/abc /var/lib/x/memory rw - cgroup cgroup rw,memory\n"
      "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "41 31 0:30 /docker/def /var/lib/y/memory rw - cgroup cgroup rw,memory\n");
  ASSERT_EQ(layout.mounts.size(), 1u);
  EXPECT_EQ(layout.v1("memory")->mount_point, "/sys/fs/cgroup/memory");
}

TEST(CgroupLayout, EscapedNamesAndNonsense_AreRead) {
  const auto layout =
      parse_cgroup_layout("1 2 0:1 / /odd\\040place rw - cgroup2 cgroup2 rw\n\nnot a line\n1 2 3\n - - -\n");
  ASSERT_NE(layout.v2(), nullptr);
  EXPECT_EQ(layout.v2()->mount_point, "/odd place");
  EXPECT_EQ(parse_cgroup_layout("").kind(), "none");
}

TEST(OwnCgroup, IsFoundBelowTheMountPoint) {
  const auto hybrid = parse_cgroup_layout(systemd_hybrid);
  const char* own = "12:memory:/user.slice/x\n5:cpu,cpuacct:/\n1:name=systemd:/init.scope\n0::/init.scope\n";
  EXPECT_EQ(own_cgroup_directory(*hybrid.v1("memory"), own), "/sys/fs/cgroup/memory/user.slice/x");
  EXPECT_EQ(own_cgroup_directory(*hybrid.v1("cpu"), own), "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(own_cgroup_directory(*hybrid.v2(), own), "/sys/fs/cgroup/unified/init.scope");
  EXPECT_EQ(own_cgroup_directory(*hybrid.v1("pids"), own), "");
}

TEST(OwnCgroup, InAContainerThatSeesAPart_IsRelativeToThatPart) {
  CgroupMount mount{CgroupVersion::v1, "/sys/fs/cgroup/memory", "/docker/abc", {"memory"}};
  EXPECT_EQ(own_cgroup_directory(mount, "4:memory:/docker/abc\n"), "/sys/fs/cgroup/memory");
  EXPECT_EQ(own_cgroup_directory(mount, "4:memory:/docker/abc/inner\n"), "/sys/fs/cgroup/memory/inner");
  EXPECT_EQ(own_cgroup_directory(mount, "4:memory:/docker/abcdef\n"), "");
}

}  // namespace
}  // namespace cloche::oci
