// From a Spec to a running program.
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "core/signals.hpp"
#include "process/borrowed_clone.hpp"
#include "process/child.hpp"
#include "process/descriptors.hpp"

namespace cloche::process {

namespace {

// All that the child needs, laid out by the parent.
struct Plan {
  const Spec* spec;
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* directory;
  int in;
  int failure_pipe;
  bool needs_cgroup_steps;
};

// Names are literals, which parent and child have at the same address.
struct ChildFailure {
  const char* step;
  int number;
};

CLOCHE_IN_CHILD const char* run_steps(const Step* steps, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (const char* failed = steps[i].run(steps[i].context)) return failed;
  }
  return nullptr;
}

CLOCHE_IN_CHILD const char* set_limits(const ResourceLimit* limits, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto resource = static_cast<__rlimit_resource_t>(limits[i].resource);
    rlimit limit = {};
    if (::getrlimit(resource, &limit) != 0) return "read a limit";
    if (limits[i].limit < limit.rlim_max) limit.rlim_max = limits[i].limit;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(resource, &limit) != 0) return "set a limit";
  }
  return nullptr;
}

// Leaves the program's three descriptors, and the pipe as number 3.
CLOCHE_IN_CHILD const char* set_descriptors(const Plan& plan) {
  // Away from 0 to 3 first, so that none of them is overwritten before it is used.
  const int in = ::fcntl(plan.in, F_DUPFD_CLOEXEC, 10);
  const int out = ::fcntl(plan.spec->out, F_DUPFD_CLOEXEC, 10);
  const int err = ::fcntl(plan.spec->err, F_DUPFD_CLOEXEC, 10);
  const int failure = ::fcntl(plan.failure_pipe, F_DUPFD_CLOEXEC, 10);
  if (in < 0 || out < 0 || err < 0 || failure < 0) return "copy descriptors";
  if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0 || ::dup3(failure, 3, O_CLOEXEC) < 0)
    return "set descriptors";
  ::syscall(SYS_close_range, 4U, ~0U, 0);
  return nullptr;
}

// By system calls, not by the C library: it would change all threads that share the memory.
CLOCHE_IN_CHILD const char* become_user(const Credentials& user) {
  if (::syscall(SYS_setgroups, 0, nullptr) != 0 || ::syscall(SYS_setgid, user.gid) != 0 ||
      ::syscall(SYS_setuid, user.uid) != 0) {
    return "change the user";
  }
  return nullptr;
}

CLOCHE_IN_CHILD const char* end_with_parent(int failure_pipe) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "end with the parent";
  // A parent that ended before that call sent no signal. In a new pid namespace getppid() could not tell, but a pipe
  // without a reader can.
  pollfd pipe = {failure_pipe, 0, 0};
  if (::poll(&pipe, 1, 0) > 0) ::_exit(127);
  return nullptr;
}

// Everything until the program; returns what failed.
CLOCHE_IN_CHILD const char* become_program(const Plan& plan, int& failure_pipe) {
  const Spec& spec = *plan.spec;
  if (plan.needs_cgroup_steps) {
    if (const char* failed = run_steps(spec.instead_of_cgroup.data(), spec.instead_of_cgroup.size())) return failed;
  }
  if (const char* failed = run_steps(spec.steps.data(), spec.steps.size())) return failed;
  if (const char* failed = set_limits(spec.limits.data(), spec.limits.size())) return failed;
  if (spec.session == Spec::Session::own) ::setsid();
  ::umask(0022);
  if (const char* failed = set_descriptors(plan)) return failed;
  failure_pipe = 3;
  // After the user: a change of it makes the kernel forget the signal. The directory may be the new user's alone.
  if (spec.user.has_value()) {
    if (const char* failed = become_user(*spec.user)) return failed;
  }
  if (spec.parent_death == Spec::ParentDeath::is_killed) {
    if (const char* failed = end_with_parent(failure_pipe)) return failed;
  }
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) return "enter the directory";
  reset_all_signals();
  ::execve(plan.program, plan.arguments, plan.environment);
  return "execute";
}

// Runs in the child, on a stack of its own and possibly in the parent's memory.
CLOCHE_IN_CHILD int child_main(void* argument) {
  const Plan& plan = *static_cast<const Plan*>(argument);
  int failure_pipe = plan.failure_pipe;
  const char* step = become_program(plan, failure_pipe);
  const ChildFailure failure = {step, errno};
  (void)!::write(failure_pipe, &failure, sizeof failure);
  ::_exit(127);
}

// A child that is created in a v2 cgroup, which is quicker by a grace period of the kernel than a move into it.
CLOCHE_IN_CHILD pid_t clone_in_cgroup(Plan& plan) {
  const SignalsBlocked blocked;
  clone_args how = {};
  how.flags = CLONE_INTO_CGROUP | static_cast<std::uint64_t>(plan.spec->namespaces);
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<std::uint64_t>(plan.spec->cgroup);
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
  if (pid == 0) ::_exit(child_main(&plan));
  return pid;
}

pid_t clone_child(Plan& plan) {
  if (plan.spec->cgroup >= 0) {
    const pid_t pid = clone_in_cgroup(plan);
    if (pid >= 0) return pid;
    plan.needs_cgroup_steps = true;
  }
  const ChildStack stack(256 * 1024);
  if (!stack) return -1;
  return clone_borrowing(child_main, &plan, stack, CLONE_VFORK | plan.spec->namespaces);
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// What the child reports, or nothing once it has become the program.
ssize_t read_failure(int fd, ChildFailure& failure) {
  ssize_t n = 0;
  do {
    n = ::read(fd, &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  return n;
}

}  // namespace

std::expected<Child, StartFailure> Child::try_start(const Spec& spec) {
  const auto not_tried = [](const char* step) {
    return std::unexpected(StartFailure{StartFailure::Where::parent, step, errno});
  };
  auto failures = make_pipe();
  auto no_input = spec.in < 0 ? make_pipe() : Pipe{};
  if (!failures || !no_input) return not_tried("create a pipe");
  no_input->write.reset();
  const auto arguments = pointers_to(spec.argv);
  const auto environment = pointers_to(spec.environment);
  Plan plan = {.spec = &spec,
               .program = spec.program.c_str(),
               .arguments = arguments.data(),
               .environment = environment.data(),
               .directory = spec.directory.empty() ? nullptr : spec.directory.c_str(),
               .in = spec.in < 0 ? no_input->read.get() : spec.in,
               .failure_pipe = failures->write.get(),
               .needs_cgroup_steps = false};
  const pid_t pid = clone_child(plan);
  if (pid < 0) return not_tried("create a process");
  UniqueFd descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const int number = descriptor ? 0 : errno;
  Child child(pid, std::move(descriptor), spec);
  failures->write.reset();

  ChildFailure failure = {};
  const ssize_t n = read_failure(failures->read.get(), failure);
  if (n == 0 && number == 0) return child;
  if (number != 0) ::kill(pid, SIGKILL);
  child.kill();
  child.reap();
  if (n == static_cast<ssize_t>(sizeof failure))
    return std::unexpected(StartFailure{StartFailure::Where::child, failure.step, failure.number});
  return std::unexpected(StartFailure{StartFailure::Where::parent, "watch the process", number});
}

}  // namespace cloche::process
