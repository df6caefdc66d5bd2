#include "backend/docker/hardening.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::docker {
namespace {

SandboxSpec sample() {
  SandboxSpec spec;
  spec.image = "x";
  spec.limits.memory = mib(128);
  spec.limits.cpus = 0.5;
  spec.limits.pids = 64;
  return spec;
}

json::value body_of(const SandboxSpec& spec, ContainerPlan plan = {}) {
  plan.image = "derived";
  if (plan.runtime.empty()) plan.runtime = "runc";
  return container_body(spec, plan);
}

const json::value& at(const json::value& body, std::string_view name) {
  const json::value* found = json::find(body, "HostConfig", name);
  static const json::value none;
  return found ? *found : none;
}

TEST(Hardening, EveryWall_IsUp) {
  const json::value body = body_of(sample());
  EXPECT_EQ(at(body, "ReadonlyRootfs"), true);
  EXPECT_EQ(at(body, "Privileged"), false);
  EXPECT_EQ(at(body, "CapDrop"), (json::array{"ALL"}));
  EXPECT_EQ(at(body, "CapAdd"), (json::array{"SETUID", "SETGID", "KILL"}));
  const json::value options = at(body, "SecurityOpt");
  EXPECT_THAT(json::texts(&options), testing::ElementsAre("no-new-privileges", testing::StartsWith("seccomp={")));
  const json::value masked = at(body, "MaskedPaths");
  EXPECT_THAT(json::texts(&masked), testing::IsSupersetOf({"/proc/kcore", "/proc/interrupts", "/proc/pressure"}));
  const json::value read_only = at(body, "ReadonlyPaths");
  EXPECT_THAT(json::texts(&read_only), testing::IsSupersetOf({"/proc/sys", "/proc/sysrq-trigger"}));
  EXPECT_EQ(at(body, "NetworkMode"), "none");
  EXPECT_EQ(at(body, "IpcMode"), "private");
  EXPECT_EQ(json::text(json::find(at(body, "LogConfig"), "Type")), "none");
  EXPECT_EQ(json::text(json::find(body, "User")), "0:0");
  EXPECT_EQ(*json::find(body, "Healthcheck", "Test"), (json::array{"NONE"}));
  EXPECT_EQ(*json::find(body, "Entrypoint"), (json::array{"/.cloche/agent"}));
  EXPECT_EQ(*json::find(body, "StdinOnce"), false);
}

TEST(Hardening, Limits_HaveNoSwapAndExactNumbers) {
  const json::value body = body_of(sample());
  EXPECT_EQ(json::number(&at(body, "Memory")), 128 << 20);
  EXPECT_EQ(json::number(&at(body, "MemorySwap")), 128 << 20);
  EXPECT_EQ(json::number(&at(body, "CpuPeriod")), 10'000);
  EXPECT_EQ(json::number(&at(body, "CpuQuota")), 5'000);
  EXPECT_EQ(json::number(&at(body, "PidsLimit")), 64);
  EXPECT_EQ(json::number(&at(body, "ShmSize")), 16 << 20);
}

TEST(Hardening, Gvisor_GetsRoomForItsOwnThreads) {
  EXPECT_EQ(engine_pids(64, Kernel::shared), 64);
  EXPECT_EQ(engine_pids(8, Kernel::own), 832);
  EXPECT_EQ(engine_pids(64, Kernel::own), 8448);
  EXPECT_EQ(engine_pids(1000, Kernel::own), 16'384);
  EXPECT_EQ(engine_pids(32768, Kernel::own), 262'400);
}

TEST(Hardening, PidsLimit_FollowsTheKernelAndNotTheName) {
  ContainerPlan plan;
  plan.runtime = "runsc";
  const json::value on_linux = body_of(sample(), plan);
  EXPECT_EQ(json::number(&at(on_linux, "PidsLimit")), 64);
  plan.runtime = "sandboxed";
  plan.kernel = Kernel::own;
  const json::value on_gvisor = body_of(sample(), plan);
  EXPECT_EQ(json::number(&at(on_gvisor, "PidsLimit")), 8448);
}

TEST(Hardening, WritablePlaces_AreSizedAndNoDevices) {
  SandboxSpec spec = sample();
  spec.work_dir = "/home/w";
  spec.uid = 1234;
  spec.gid = 2345;
  const json::value body = body_of(spec);
  EXPECT_EQ(json::text(json::find(at(body, "Tmpfs"), "/home/w")),
            "rw,exec,nosuid,nodev,size=67108864,nr_inodes=65536,uid=1234,gid=2345,mode=0755");
  EXPECT_EQ(json::text(json::find(at(body, "Tmpfs"), "/tmp")),
            "rw,exec,nosuid,nodev,size=33554432,nr_inodes=32768,mode=1777");
  EXPECT_EQ(json::text(json::find(at(body, "Tmpfs"), "/dev/shm")),
            "rw,noexec,nosuid,nodev,size=16777216,nr_inodes=16384,mode=1777");
  EXPECT_EQ(at(body, "Tmpfs").get_object().size(), 3u);
}

TEST(Hardening, DeclaredVolumes_AreCoveredReadOnly) {
  ContainerPlan plan;
  plan.volumes = {"/var/lib/data", "/workspace"};
  const json::value body = body_of(sample(), plan);
  EXPECT_TRUE(json::text(json::find(at(body, "Tmpfs"), "/var/lib/data")).starts_with("ro,"));
  // One at the work directory is the work directory.
  EXPECT_TRUE(json::text(json::find(at(body, "Tmpfs"), "/workspace")).starts_with("rw,"));
}

TEST(CheckVolumes, PlacesTheSandboxStandsOn_AreRefused) {
  EXPECT_TRUE(check_volumes({"/data", "/tmp/x"}));
  for (const char* odd :
       {"/", "relative", "/a/../b", "/.cloche", "/.cloche/x", "/proc", "/sys/fs", "/dev", "/dev/shm", ""}) {
    EXPECT_FALSE(check_volumes({odd})) << odd;
  }
}

TEST(Hardening, Binds_GoThroughTheMapAndReadOnlyOnesHideSubmounts) {
  SandboxSpec spec = sample();
  spec.mounts = {{"/data/in", "/in", Access::read_only}, {"/data/out", "/out", Access::read_write}};
  ContainerPlan plan;
  plan.host_path_map = {{"/data", "/srv/data"}};
  const json::value body = body_of(spec, plan);
  const auto& mounts = at(body, "Mounts").get_array();
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(json::text(json::find(mounts[0], "Source")), "/srv/data/in");
  EXPECT_TRUE(json::truth(json::find(mounts[0], "ReadOnly")));
  EXPECT_TRUE(json::truth(json::find(mounts[0], "BindOptions", "NonRecursive")));
  EXPECT_EQ(json::text(json::find(mounts[1], "Source")), "/srv/data/out");
  EXPECT_FALSE(json::truth(json::find(mounts[1], "ReadOnly")));
}

TEST(WarnsOfLostLimit, WhateverAnEngineWarnsOf_IsTakenSeriously) {
  EXPECT_TRUE(
      warns_of_lost_limit("Your kernel does not support swap limit capabilities or the cgroup is not mounted. "
                          "Memory limited without swap."));
  EXPECT_TRUE(warns_of_lost_limit("Your kernel does not support pids limit capabilities. PIDs limit discarded."));
  EXPECT_TRUE(warns_of_lost_limit("something new"));
  EXPECT_FALSE(warns_of_lost_limit("Published ports are discarded when using host network mode"));
}

}  // namespace
}  // namespace cloche::docker
