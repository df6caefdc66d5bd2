#include "backend/oci/bundle.hpp"

#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>

namespace cloche::oci {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

BundleParts parts() {
  BundleParts parts;
  parts.root = "/state/roots/x";
  parts.root_binds = {{"/usr", "/usr", Access::read_only}};
  parts.agent_arguments = {"init"};
  parts.uids = UidRange{2};
  return parts;
}

const json::object& mount_at(const json::object& bundle, std::string_view target) {
  for (const json::value& mount : bundle.at("mounts").as_array()) {
    if (mount.at("destination").as_string() == target) return mount.as_object();
  }
  throw std::out_of_range(std::string(target));
}

std::string options_at(const json::object& bundle, std::string_view target) {
  return json::serialize(mount_at(bundle, target).at("options"));
}

TEST(Bundle, Agent_HasNoMoreThanItNeeds) {
  const auto bundle = make_bundle({}, parts());
  const auto& process = bundle.at("process").as_object();
  EXPECT_EQ(json::serialize(process.at("args")), R"(["/.cloche/agent","init"])");
  EXPECT_TRUE(process.at("noNewPrivileges").as_bool());
  EXPECT_FALSE(process.at("terminal").as_bool());
  const auto& capabilities = process.at("capabilities").as_object();
  const std::string three = R"(["CAP_SETUID","CAP_SETGID","CAP_KILL"])";
  for (const char* set : {"bounding", "effective", "permitted"})
    EXPECT_EQ(json::serialize(capabilities.at(set)), three);
  for (const char* set : {"inheritable", "ambient"}) EXPECT_EQ(json::serialize(capabilities.at(set)), "[]");
  EXPECT_THAT(json::serialize(process.at("rlimits")), HasSubstr(R"({"type":"RLIMIT_CORE","hard":0,"soft":0})"));
}

TEST(Bundle, SandboxWithRoot_HasRootsCapabilitiesAndHome) {
  SandboxSpec spec;
  spec.root = true;
  const auto bundle = make_bundle(spec, parts());
  const auto& capabilities = bundle.at("process").at("capabilities").as_object();
  EXPECT_EQ(
      json::serialize(capabilities.at("bounding")),
      R"(["CAP_SETUID","CAP_SETGID","CAP_KILL","CAP_CHOWN","CAP_DAC_OVERRIDE","CAP_FOWNER","CAP_FSETID","CAP_NET_BIND_SERVICE"])");
  EXPECT_EQ(json::serialize(capabilities.at("inheritable")), "[]");
  EXPECT_TRUE(bundle.at("process").at("noNewPrivileges").as_bool());
  EXPECT_THAT(options_at(bundle, "/root"), HasSubstr("mode=0700"));
  EXPECT_THAT(options_at(bundle, "/root"), HasSubstr("nosuid"));
  EXPECT_THAT(options_at(bundle, "/run"), HasSubstr("mode=0755"));
  EXPECT_THROW(options_at(make_bundle({}, parts()), "/run"), std::out_of_range);
  EXPECT_THROW(options_at(make_bundle({}, parts()), "/root"), std::out_of_range);
}

TEST(Bundle, Root_IsReadOnlyAndUidsAreTheSandboxsOwn) {
  const auto bundle = make_bundle({}, parts());
  EXPECT_TRUE(bundle.at("root").at("readonly").as_bool());
  const std::string ids = json::serialize(bundle.at("linux").at("uidMappings"));
  EXPECT_EQ(ids, R"([{"containerID":0,"hostID":1879179264,"size":65536}])");
  EXPECT_EQ(json::serialize(bundle.at("linux").at("gidMappings")), ids);
}

TEST(Bundle, Namespaces_AreAllNew) {
  const std::string namespaces = json::serialize(make_bundle({}, parts()).at("linux").at("namespaces"));
  for (const char* kind : {"pid", "mount", "ipc", "uts", "network", "user", "cgroup"}) {
    EXPECT_THAT(namespaces, HasSubstr(std::string("\"") + kind + "\""));
  }
  EXPECT_THAT(namespaces, Not(HasSubstr("path")));
}

TEST(Bundle, UserNamespaceThatIsMadeAlready_IsEntered) {
  BundleParts made = parts();
  made.user_namespace = "/proc/7/fd/9";
  const std::string namespaces = json::serialize(make_bundle({}, made).at("linux").at("namespaces"));
  EXPECT_THAT(namespaces, HasSubstr(R"({"type":"user","path":"/proc/7/fd/9"})"));
}

TEST(Bundle, WritablePlaces_HaveTheirLimits) {
  SandboxSpec spec;
  spec.work_dir = "/work";
  spec.uid = 1234;
  spec.gid = 2345;
  spec.limits.work_dir = mib(64);
  spec.limits.tmp_dir = mib(32);
  spec.limits.shm_dir = mib(16);
  const auto bundle = make_bundle(spec, parts());
  EXPECT_THAT(options_at(bundle, "/work"),
              HasSubstr(R"("size=67108864","nr_inodes=16384","mode=0755","uid=1234","gid=2345")"));
  EXPECT_THAT(options_at(bundle, "/tmp"), HasSubstr("size=33554432"));
  EXPECT_THAT(options_at(bundle, "/dev/shm"), HasSubstr("size=16777216"));
  for (const char* place : {"/work", "/tmp", "/dev/shm"}) {
    EXPECT_THAT(options_at(bundle, place), HasSubstr(R"("nosuid","nodev")")) << place;
  }
}

TEST(Bundle, WorkDirectoryOnDisk_IsBoundWithItsHome) {
  SandboxSpec spec;
  spec.workspace = WorkspaceKind::disk;
  BundleParts with_disk = parts();
  with_disk.disk = {{"/stage/0/work", "/workspace", Access::read_write},
                    {"/stage/0/home", "/home/sandbox", Access::read_write}};
  const auto bundle = make_bundle(spec, with_disk);
  for (const auto& [target, source] : {std::pair{"/workspace", "/stage/0/work"}, {"/home/sandbox", "/stage/0/home"}}) {
    EXPECT_EQ(mount_at(bundle, target).at("type").as_string(), "bind");
    EXPECT_EQ(mount_at(bundle, target).at("source").as_string(), source);
    EXPECT_EQ(options_at(bundle, target), R"(["rbind","rw","nosuid","nodev"])");
  }
}

TEST(Bundle, Binds_AreReadOnlyUnlessAskedOtherwise) {
  auto given = parts();
  given.mounts = {{"/data", "/in", Access::read_only},
                  {"/data", "/out", Access::read_write, BundleBind::Execution::forbidden}};
  const auto bundle = make_bundle({}, given);
  EXPECT_EQ(options_at(bundle, "/usr"), R"(["rbind","ro","nosuid","nodev"])");
  EXPECT_EQ(options_at(bundle, "/in"), R"(["rbind","ro","nosuid","nodev"])");
  EXPECT_EQ(options_at(bundle, "/out"), R"(["rbind","rw","nosuid","nodev","noexec"])");
}

TEST(Bundle, ProcAndSys_AreCutDown) {
  auto given = parts();
  const auto bundle = make_bundle({}, given);
  EXPECT_THAT(options_at(bundle, "/proc"), HasSubstr("hidepid=2"));
  const std::string text = json::serialize(bundle.at("linux"));
  for (const char* path :
       {"/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware", "/proc/sysrq-trigger", "/proc/sys"}) {
    EXPECT_THAT(text, HasSubstr(path));
  }
  EXPECT_THAT(json::serialize(bundle.at("mounts")), Not(HasSubstr("/sys")));
  given.proc = BundleParts::ProcOptions::plain;
  EXPECT_THAT(options_at(make_bundle({}, given), "/proc"), Not(HasSubstr("hidepid")));
}

TEST(Bundle, CgroupPath_IsThereOnlyForWhoNeedsIt) {
  auto given = parts();
  EXPECT_FALSE(make_bundle({}, given).at("linux").as_object().contains("cgroupsPath"));
  given.cgroup_path = "/cloche/i/s";
  EXPECT_EQ(make_bundle({}, given).at("linux").at("cgroupsPath").as_string(), "/cloche/i/s");
}

TEST(Bundle, GpusOfTheHost_AreBoundAndOnlyThey) {
  auto given = parts();
  given.devices = {{"/dev/nvidia1", "/dev/nvidia1", 195, 1}};
  auto bundle = make_bundle({}, given);
  EXPECT_EQ(options_at(bundle, "/dev/nvidia1"), R"(["bind","rw","nosuid","noexec"])");
  EXPECT_FALSE(bundle.at("linux").as_object().contains("devices"));
  EXPECT_FALSE(bundle.at("linux").as_object().contains("resources")) << "cgroups are Cloche's own";
  given.cgroup_path = "/cloche/i/s";
  bundle = make_bundle({}, given);
  EXPECT_EQ(
      json::serialize(bundle.at("linux").at("resources")),
      R"({"devices":[{"allow":false,"access":"rwm"},{"allow":true,"type":"c","major":195,"minor":1,"access":"rw"}]})");
}

TEST(Bundle, GpusOnGvisor_AreListed) {
  auto given = parts();
  given.devices = {{"/dev/nvidia1", "/dev/nvidia1", 195, 1}};
  given.devices_are = BundleParts::Devices::listed;
  const auto bundle = make_bundle({}, given);
  EXPECT_EQ(json::serialize(bundle.at("linux").at("devices")),
            R"([{"path":"/dev/nvidia1","type":"c","major":195,"minor":1,"fileMode":438,"uid":0,"gid":0}])");
  EXPECT_THROW(mount_at(bundle, "/dev/nvidia1"), std::out_of_range);
}

TEST(Seccomp, Profile_AllowsByNameAndRefusesTheRest) {
  const auto profile = seccomp_profile(SeccompDialect::linux_kernel);
  EXPECT_EQ(profile.at("defaultAction").as_string(), "SCMP_ACT_ERRNO");
  const auto& rules = profile.at("syscalls").as_array();
  const std::string always = json::serialize(rules.at(0));
  for (const char* name :
       {"read", "execve", "openat", "mmap", "futex", "pidfd_open", "ptrace", "epoll_pwait2", "wait4"}) {
    EXPECT_THAT(always, HasSubstr(std::string("\"") + name + "\"")) << name;
  }
  const std::string all = json::serialize(profile);
  for (const char* name :
       {"mount", "umount2", "unshare", "setns", "bpf", "keyctl", "add_key", "io_uring_setup", "perf_event_open",
        "kexec_load", "init_module", "open_by_handle_at", "userfaultfd", "pivot_root", "chroot", "reboot"}) {
    EXPECT_THAT(all, Not(HasSubstr(std::string("\"") + name + "\""))) << name;
  }
}

TEST(Seccomp, ConditionalCalls_KeepTheirConditions) {
  std::map<std::string, int> with_arguments;
  const auto profile = seccomp_profile(SeccompDialect::linux_kernel);
  for (const json::value& rule : profile.at("syscalls").as_array()) {
    if (rule.as_object().contains("args")) ++with_arguments[std::string(rule.at("names").at(0).as_string())];
  }
  EXPECT_EQ(with_arguments, (std::map<std::string, int>{{"clone", 1}, {"personality", 5}, {"socket", 1}}));
}

TEST(Seccomp, Clone3_IsAbsentToProgramsOnEitherKernel) {
  const std::string host = json::serialize(seccomp_profile(SeccompDialect::linux_kernel));
  EXPECT_THAT(host, HasSubstr(R"({"names":["clone3"],"action":"SCMP_ACT_ERRNO","errnoRet":38})"));
  EXPECT_THAT(json::serialize(seccomp_profile(SeccompDialect::gvisor)), Not(HasSubstr("errnoRet")));
}

}  // namespace
}  // namespace cloche::oci
