// What a program sees inside a real sandbox, with every runtime of this host.
#include <gmock/gmock.h>

#include <sys/syscall.h>

#include "backend/kernel/gvisor_needs.hpp"
#include "backend/oci/files.hpp"
#include "backend/oci/testing/workbench.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Walls : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    CLOCHE_NEEDS_RUNTIME(GetParam());
    backend_ = bench_.backend();
    spec_.runtime = GetParam();
  }

  void TearDown() override {
    for (auto& sandbox : sandboxes_) bench_.destroy(*sandbox);
    EXPECT_EQ(bench_.leftovers(), "");
  }

  Enclosure& make() {
    sandboxes_.push_back(bench_.make(*backend_, spec_));
    if (sandboxes_.back() == nullptr) {
      sandboxes_.pop_back();
      throw std::runtime_error("no sandbox");
    }
    return *sandboxes_.back();
  }

  std::string ask(Enclosure& sandbox, const std::string& command) { return bench_.ask(sandbox, command); }
  bool is_gvisor() const { return std::string(GetParam()) == "runsc"; }

  Workbench bench_;
  std::unique_ptr<Backend> backend_;
  SandboxSpec spec_;
  std::vector<std::unique_ptr<Enclosure>> sandboxes_;
};

TEST_P(Walls, BytesGoIn_TheSameComeOut) {
  auto& sandbox = make();
  EXPECT_EQ(ask(sandbox, "echo hello"), "hello");
  EXPECT_EQ(sandbox.runtime(), GetParam());
  const std::string long_text(4000, 'x');
  EXPECT_EQ(ask(sandbox, "echo " + long_text), long_text);
}

TEST_P(Walls, Agent_HasThreeCapabilitiesAndAFilter) {
  auto& sandbox = make();
  const std::string status = ask(sandbox, "cat /proc/self/status");
  EXPECT_THAT(status, HasSubstr("CapEff:\t00000000000000e0"));
  EXPECT_THAT(status, HasSubstr("CapPrm:\t00000000000000e0"));
  EXPECT_THAT(status, HasSubstr("CapBnd:\t00000000000000e0"));
  EXPECT_THAT(status, HasSubstr("CapInh:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("Seccomp:\t2"));
  if (!is_gvisor()) {
    EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  }
}

TEST_P(Walls, Program_HasNoCapability) {
  const std::string status = ask(make(), "as 1000 cat /proc/self/status");
  EXPECT_THAT(status, HasSubstr("Uid:\t1000\t1000\t1000\t1000"));
  EXPECT_THAT(status, HasSubstr("CapEff:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("CapPrm:\t0000000000000000"));
}

TEST_P(Walls, ForbiddenSystemCalls_AreRefused) {
  auto& sandbox = make();
  for (const long number : {SYS_mount, SYS_unshare, SYS_keyctl, SYS_bpf, SYS_setns, SYS_reboot, SYS_init_module}) {
    EXPECT_THAT(ask(sandbox, "call " + std::to_string(number)), StartsWith("error 1 ")) << number;
  }
  EXPECT_THAT(ask(sandbox, "call " + std::to_string(SYS_clone3)), StartsWith(is_gvisor() ? "error " : "error 38 "));
  EXPECT_EQ(ask(sandbox, "call " + std::to_string(SYS_getpid)), "ok");
}

TEST_P(Walls, Threads_CanBeMade) { EXPECT_EQ(ask(make(), "thread"), "ok"); }

TEST_P(Walls, Root_IsReadOnlyAndPlacesToWriteAreWritable) {
  auto& sandbox = make();
  for (const char* path : {"/x", "/usr/x", "/etc/passwd", "/run/x", "/.cloche/agent", "/sys/x"}) {
    EXPECT_THAT(ask(sandbox, std::string("write ") + path), StartsWith("error ")) << path;
    EXPECT_THAT(ask(sandbox, std::string("as 1000 write ") + path), StartsWith("error ")) << path;
  }
  for (const char* path : {"/workspace/x", "/tmp/x", "/dev/shm/x", "/var/tmp/y", "/dev/null"}) {
    EXPECT_EQ(ask(sandbox, std::string("as 1000 write ") + path), "ok") << path;
  }
  EXPECT_THAT(ask(sandbox, "as 1000 write /dev/x"), StartsWith("error "));
}

TEST_P(Walls, WorkDirectory_BelongsToTheUser) {
  auto& sandbox = make();
  EXPECT_EQ(ask(sandbox, "stat /workspace"), "40755 1000 1000");
  EXPECT_THAT(ask(sandbox, "stat /tmp"), StartsWith("41777 "));
  EXPECT_THAT(ask(sandbox, "stat /dev/shm"), StartsWith("41777 "));
}

TEST_P(Walls, FileSystemsInMemory_AreNoLargerThanAllowed) {
  spec_.limits.work_dir = mib(4);
  spec_.limits.tmp_dir = mib(2);
  spec_.limits.shm_dir = mib(1);
  auto& sandbox = make();
  EXPECT_EQ(ask(sandbox, "as 1000 fill /workspace/f"), std::to_string(4 << 20) + " error 28 No space left on device");
  EXPECT_EQ(ask(sandbox, "as 1000 fill /tmp/f"), std::to_string(2 << 20) + " error 28 No space left on device");
  EXPECT_EQ(ask(sandbox, "as 1000 fill /dev/shm/f"), std::to_string(1 << 20) + " error 28 No space left on device");
}

TEST_P(Walls, Network_IsLoopbackAlone) {
  const std::string network = ask(make(), "as 1000 net");
  EXPECT_THAT(network, HasSubstr("interface lo up"));
  EXPECT_THAT(network, HasSubstr("outside: error"));
  // Some kernels have tunnel devices in every network namespace; they are down.
  EXPECT_EQ(network.find(" up"), network.rfind(" up")) << network;
  EXPECT_THAT(network, Not(HasSubstr("eth")));
}

TEST_P(Walls, HostFiles_AreNotSeen) {
  auto& sandbox = make();
  EXPECT_THAT(ask(sandbox, "open /etc/shadow"), StartsWith("error 2 "));
  EXPECT_THAT(ask(sandbox, "list /"), Not(HasSubstr("root\n")));
  EXPECT_THAT(ask(sandbox, "list /"), Not(HasSubstr("home")));
  EXPECT_EQ(ask(sandbox, "open /usr/bin/env"), "ok");
  EXPECT_THAT(ask(sandbox, "cat /etc/passwd"), HasSubstr("sandbox:x:1000:1000:"));
  EXPECT_EQ(ask(sandbox, "host"), "sandbox");
}

TEST_P(Walls, OtherProcesses_AreHidden) {
  auto& sandbox = make();
  const std::string entries = "\n" + ask(sandbox, "as 1000 list /proc") + "\n";
  EXPECT_THAT(entries, HasSubstr("\nself\n"));
  if (!is_gvisor()) {
    EXPECT_THAT(entries, Not(HasSubstr("\n1\n")));
  }
  for (const char* path : {"mem", "fd/0", "fd/1", "root/etc/passwd", "exe"}) {
    EXPECT_THAT(ask(sandbox, std::string("as 1000 open /proc/1/") + path), StartsWith("error ")) << path;
  }
  EXPECT_THAT(ask(sandbox, "as 1000 write /proc/1/fd/1"), StartsWith("error "));
}

TEST_P(Walls, DangerousProcPaths_AreMaskedOrReadOnly) {
  auto& sandbox = make();
  EXPECT_THAT(ask(sandbox, "write /proc/sysrq-trigger"), StartsWith("error "));
  EXPECT_THAT(ask(sandbox, "write /proc/sys/kernel/core_pattern"), StartsWith("error "));
  if (!is_gvisor()) {
    EXPECT_EQ(ask(sandbox, "cat /proc/keys"), "");
    EXPECT_EQ(ask(sandbox, "cat /proc/timer_list"), "");
  }
  // gVisor always mounts its own /sys.
  if (!is_gvisor()) {
    EXPECT_EQ(ask(sandbox, "list /sys"), ".\n..");
  }
}

TEST_P(Walls, MoreMemoryThanAllowed_IsKilledAndCounted) {
  spec_.limits.memory = mib(64);
  auto& sandbox = make();
  const std::string answer = ask(sandbox, "eat 200");
  if (is_gvisor()) {
    EXPECT_THAT(answer, Not(HasSubstr("exit 0")));
  } else {
    EXPECT_EQ(answer, "signal 9");
  }
  const auto evidence = bench_.run<Result<Evidence>>([&]() -> Task<Result<Evidence>> { return sandbox.evidence(); });
  ASSERT_TRUE(evidence) << evidence.error().message;
  EXPECT_GE(evidence->oom_kills, 1u);
  ASSERT_TRUE(evidence->memory_peak);
  // On gVisor the server kills programs at the sandbox's own limit; this is the host's.
  const Bytes limit = is_gvisor() ? gvisor_host_memory(mib(64)) : mib(64);
  EXPECT_LE(evidence->memory_peak->count, limit.count + kib(64).count);  // counted a little ahead of being refused
  EXPECT_GE(*evidence->memory_peak, mib(40));
}

TEST_P(Walls, MemoryWithinTheLimit_IsGiven) {
  auto& sandbox = make();
  EXPECT_EQ(ask(sandbox, "eat 40"), "exit 0");
  const auto evidence = bench_.run<Result<Evidence>>([&]() -> Task<Result<Evidence>> { return sandbox.evidence(); });
  ASSERT_TRUE(evidence);
  EXPECT_EQ(evidence->oom_kills, 0u);
}

TEST_P(Walls, MoreProcessesThanAllowed_CannotBeMade) {
  spec_.limits.pids = 20;
  auto& sandbox = make();
  const std::string answer = ask(sandbox, "forks 1000");
  if (is_gvisor()) {
    // Programs are limited inside, by what they are started with, which an agent by itself is not. The host's limit
    // counts threads of gVisor's kernel: what matters here is that there is an end.
    EXPECT_THAT(answer, Not(HasSubstr("1000 ok")));
  } else {
    // The agent is one; crun's own last process counts until the host's init has reaped it.
    EXPECT_THAT(answer, ::testing::MatchesRegex("1[89] Resource temporarily unavailable"));
  }
}

TEST_P(Walls, HalfAProcessor_IsHalfAProcessor) {
  spec_.limits.cpus = 0.25;
  auto& sandbox = make();
  ASSERT_EQ(ask(sandbox, "echo ready"), "ready");
  const int had = std::stoi(ask(sandbox, "burn 800"));
  EXPECT_GE(had, 40);
  // gVisor's own work is in the share too, and its clock counts what it was stopped for.
  if (!is_gvisor()) {
    EXPECT_LE(had, 400);
  }
}

TEST_P(Walls, LimitsChanged_HoldInTheLivingSandbox) {
  spec_.limits.memory = mib(64);
  auto& sandbox = make();
  Limits more = spec_.limits;
  more.memory = mib(256);
  more.pids = 100;
  const auto change = [&](const Limits& limits) {
    return bench_.run<Status>([&]() -> Task<Status> { return sandbox.set_limits(limits); });
  };
  const Status raised = change(more);
  ASSERT_TRUE(raised) << raised.error().message;
  EXPECT_EQ(sandbox.spec().limits.memory, mib(256));
  // gVisor keeps for a while what its programs have used, and memory in use cannot be limited away.
  if (!is_gvisor()) {
    EXPECT_EQ(ask(sandbox, "eat 120"), "exit 0");
  }
  const Status lowered = change(spec_.limits);
  ASSERT_TRUE(lowered) << lowered.error().message;
  EXPECT_EQ(sandbox.spec().limits.memory, mib(64));
  Limits absurd = more;
  absurd.pids = 1;
  EXPECT_EQ(change(absurd).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(sandbox.spec().limits.pids, spec_.limits.pids);
}

TEST_P(Walls, TwoSandboxes_ShareNothing) {
  auto& one = make();
  auto& other = make();
  EXPECT_EQ(ask(one, "as 1000 write /workspace/secret"), "ok");
  EXPECT_THAT(ask(other, "open /workspace/secret"), StartsWith("error 2 "));
  EXPECT_THAT(ask(other, "open /dev/shm/secret"), StartsWith("error 2 "));
  EXPECT_NE(one.id(), other.id());
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Walls, ::testing::Values("crun", "runc", "runsc"),
                         [](const auto& runtime) { return std::string(runtime.param); });

}  // namespace
}  // namespace cloche::oci
