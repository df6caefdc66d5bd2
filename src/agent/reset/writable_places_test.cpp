#include "agent/reset/writable_places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* sandbox = R"(100 90 0:1 / / ro,relatime - overlay overlay ro
101 100 0:2 / /proc rw,nosuid - proc proc rw
102 100 0:3 / /dev rw,nosuid - tmpfs tmpfs rw,size=64k
103 102 0:4 / /dev/pts rw - devpts devpts rw
104 102 0:5 / /dev/shm rw - tmpfs shm rw
105 102 0:6 / /dev/mqueue rw - mqueue mqueue rw
106 100 0:7 / /tmp rw - tmpfs tmpfs rw
107 100 0:8 / /work\040space rw shared:4 master:2 - tmpfs tmpfs rw
108 100 0:9 /data /work\040space/data rw - ext4 /dev/vda rw
109 100 0:10 / /usr ro - ext4 /dev/vda rw
110 100 0:11 / /opt rw - ext4 /dev/vdb ro
111 101 0:12 / /proc/scsi rw - tmpfs tmpfs rw
112 100 0:13 / /sys/fs/cgroup rw - cgroup2 cgroup rw
)";

TEST(WritablePlaces, MountsOfASandbox_AreThoseAProgramCanWriteTo) {
  EXPECT_THAT(writable_places(parse_mountinfo(sandbox), {"/work space/data"}),
              ElementsAre("/dev", "/dev/shm", "/dev/mqueue", "/tmp", "/work space"));
}

TEST(WritablePlaces, MountOfTheCaller_IsOnlySparedWhenItIsNamed) {
  const auto places = writable_places(parse_mountinfo(sandbox), {});
  EXPECT_THAT(places, testing::Contains("/work space/data"));
}

TEST(WritablePlaces, PathThatOnlyStartsAlike_IsNotSpared) {
  const auto mounts = parse_mountinfo("1 0 0:1 / /data2 rw - tmpfs t rw\n");
  EXPECT_THAT(writable_places(mounts, {"/data"}), ElementsAre("/data2"));
}

TEST(ParseMountinfo, Garbage_IsPassedOver) {
  EXPECT_THAT(parse_mountinfo("\n\nnothing here\n1 2 3\n- - - -\n"), IsEmpty());
}

}  // namespace
}  // namespace cloche::agent
