#include "backend/oci/cgroup/device_filter.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/files.hpp"
#include "backend/oci/testing/workbench.hpp"
#include "core/ids.hpp"
#include "support/missing.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;

// A process of this cgroup, by its file of processes, opens the device; 0 or the errno.
int open_inside(const std::string& procs, const std::string& path, int flags) {
  const pid_t child = ::fork();
  if (child == 0) {
    const UniqueFd fd(::open(procs.c_str(), O_WRONLY | O_CLOEXEC));
    if (::write(fd.get(), "0", 1) != 1) ::_exit(255);
    ::_exit(::open(path.c_str(), flags | O_CLOEXEC) >= 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

// A cgroup of its own in one hierarchy, with what it is called there.
struct OwnCgroup {
  explicit OwnCgroup(const std::string& mount_point) : directory(mount_point + "/cloche-test-" + random_hex(6)) {
    made = ::mkdir(directory.c_str(), 0755) == 0;
  }
  ~OwnCgroup() { ::rmdir(directory.c_str()); }
  std::string directory;
  bool made = false;
};

const CgroupLayout& layout() {
  static const CgroupLayout found = parse_cgroup_layout(read_file("/proc/self/mountinfo").value());
  return found;
}

void expect_limited(const std::string& directory) {
  const std::string procs = directory + "/cgroup.procs";
  EXPECT_EQ(open_inside(procs, "/dev/null", O_RDWR), 0);
  EXPECT_EQ(open_inside(procs, "/dev/zero", O_RDWR), 0);
  EXPECT_EQ(open_inside(procs, "/dev/full", O_RDONLY), EPERM);
  EXPECT_EQ(open_inside(procs, "/dev/urandom", O_RDONLY), EPERM);
  EXPECT_EQ(open_inside(procs, "/dev/ptmx", O_RDWR | O_NOCTTY), 0) << "of a rule without a second number";
}

const std::vector<DeviceRule> few = {{1, 3}, {1, 5}, {5, std::nullopt}, {136, std::nullopt}};

TEST(DeviceFilter, ListOfV1_LimitsWhatCanBeOpened) {
  const CgroupMount* mount = layout().v1("devices");
  if (mount == nullptr) CLOCHE_CANNOT_TEST("cgroup v1", "this host has no hierarchy of devices");
  const OwnCgroup own(mount->mount_point);
  ASSERT_TRUE(own.made);
  ASSERT_TRUE(limit_devices_v1(own.directory, few));
  expect_limited(own.directory);
}

TEST(DeviceFilter, ProgramOfV2_LimitsWhatCanBeOpened) {
  const CgroupMount* mount = layout().v2();
  if (mount == nullptr) CLOCHE_CANNOT_TEST("cgroup v2", "this host has no such hierarchy");
  const OwnCgroup own(mount->mount_point);
  ASSERT_TRUE(own.made);
  const Status limited = limit_devices_v2(own.directory, few);
  ASSERT_TRUE(limited) << limited.error().message;
  expect_limited(own.directory);
}

TEST(DeviceFilter, Nodes_CannotBeCreatedOnV2) {
  const CgroupMount* mount = layout().v2();
  if (mount == nullptr) CLOCHE_CANNOT_TEST("cgroup v2", "this host has no such hierarchy");
  const OwnCgroup own(mount->mount_point);
  ASSERT_TRUE(own.made);
  ASSERT_TRUE(limit_devices_v2(own.directory, few));
  const ScratchDirectory scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    const UniqueFd fd(::open((own.directory + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (::write(fd.get(), "0", 1) != 1) ::_exit(255);
    ::_exit(::mknod((scratch / "null").c_str(), S_IFCHR | 0666, ::gnu_dev_makedev(1, 3)) == 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), EPERM);
}

TEST(DeviceFilter, HarmlessDevices_AreThoseOfEverySandbox) {
  std::string lines;
  for (const DeviceRule& rule : harmless_devices()) lines += rule_line(rule) + ";";
  EXPECT_EQ(lines, "c 1:3 rw;c 1:5 rw;c 1:7 rw;c 1:8 rw;c 1:9 rw;c 5:0 rw;c 5:2 rw;c 136:* rw;");
}

}  // namespace
}  // namespace cloche::oci
