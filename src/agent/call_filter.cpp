#include "agent/call_filter.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cloche::agent {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t machine = AUDIT_ARCH_AARCH64;
#endif

// Flags of clone(2) that make a namespace.
constexpr std::uint32_t namespace_flags = 0x7E02'0000;

constexpr std::uint32_t refused(int error) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error); }

// Instructions of a filter, put together call by call. The number of the call is in the accumulator.
class Steps {
 public:
  Steps() {
    load(offsetof(seccomp_data, arch));
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0));
    answer(refused(ENOSYS));
    load(offsetof(seccomp_data, nr));
  }

  void refuse(long call, int error) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    answer(refused(error));
  }

  // Filters by bits of its first argument. Ends the filter.
  void refuse_with(long call, std::uint32_t bits, int error) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 3));
    load(offsetof(seccomp_data, args));  // the lower half, on little-endian machines
    add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    answer(refused(error));
  }

  std::vector<sock_filter> finish() && {
    answer(SECCOMP_RET_ALLOW);
    return std::move(steps_);
  }

 private:
  void load(std::size_t offset) { add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset))); }
  void answer(std::uint32_t value) { add(BPF_STMT(BPF_RET | BPF_K, value)); }
  void add(sock_filter step) { steps_.push_back(step); }

  std::vector<sock_filter> steps_;
};

bool makes_namespace_by_clone3() {
  clone_args arguments{};
  arguments.flags = CLONE_NEWUSER;
  arguments.exit_signal = SIGCHLD;
  const long child = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) ::_exit(0);
  if (child > 0) ::waitpid(static_cast<pid_t>(child), nullptr, 0);
  return child > 0;
}

}  // namespace

bool can_make_namespaces() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(makes_namespace_by_clone3() || ::unshare(CLONE_NEWUSER) == 0 ? 1 : 0);
  int status = 0;
  return child < 0 || ::waitpid(child, &status, 0) != child || status != 0;
}

Status close_calls(ClosedCalls closed) {
  Steps steps;
  if (closed.queues) steps.refuse(__NR_mq_open, ENOSYS);
  if (closed.namespaces) {
    steps.refuse(__NR_unshare, EPERM);
    steps.refuse(__NR_setns, EPERM);
    // Its flags are behind a pointer, where no filter sees them. "Not there" makes C libraries take clone.
    steps.refuse(__NR_clone3, ENOSYS);
    steps.refuse_with(__NR_clone, namespace_flags, EPERM);
  }
  std::vector<sock_filter> filter = std::move(steps).finish();
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno("give up new privileges");
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) return fail_errno("filter system calls");
  return {};
}

}  // namespace cloche::agent
