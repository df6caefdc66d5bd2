#include "backend/oci/subprocess.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace cloche::oci {

namespace {

constexpr Bytes kept_output = kib(64);

// Code that runs in the child: a sanitizer's notes about it would be the parent's.
#define NO_SANITIZE __attribute__((no_sanitize("address", "thread", "undefined")))

// All that the child needs, laid out by the parent: between clone and exec nothing but system calls is allowed, for
// another thread may hold any lock, and memory may be shared with the parent.
struct ChildPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int in, out, err;
  const int* entrances;  // files of cgroups to write "0" to
  std::size_t entrance_count;
  const MountStep* mounts;
  std::size_t mount_count;
  const ResourceLimit* limits;
  std::size_t limit_count;
  int failure_pipe;
};

struct ChildFailure {
  char step[24];
  int number;
};

[[noreturn]] NO_SANITIZE void give_up(const ChildPlan& plan, const char* step) {
  ChildFailure failure = {{}, errno};
  for (std::size_t i = 0; step[i] != '\0' && i + 1 < sizeof failure.step; ++i) failure.step[i] = step[i];
  (void)!::write(plan.failure_pipe, &failure, sizeof failure);
  ::_exit(127);
}

NO_SANITIZE void do_mount_step(const ChildPlan& plan, const MountStep& step) {
  const char* target = step.target.c_str();
  switch (step.kind) {
    case MountStep::Kind::detach:
      if (::umount2(target, MNT_DETACH) != 0) give_up(plan, "hide a mount");
      break;
    case MountStep::Kind::tmpfs:
      if (::mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=64k") != 0)
        give_up(plan, "mount a stage");
      break;
    case MountStep::Kind::make_directory:
      if (::mkdir(target, 0755) != 0) give_up(plan, "create a mount point");
      break;
    case MountStep::Kind::make_file: {
      const int fd = ::open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
      if (fd < 0) give_up(plan, "create a mount point");
      ::close(fd);
      break;
    }
    case MountStep::Kind::bind:
      if (::mount(step.source.c_str(), target, nullptr, MS_BIND | MS_REC, nullptr) != 0) give_up(plan, "show a source");
      break;
    case MountStep::Kind::protect: {
      mount_attr attributes = {};
      attributes.attr_set = MOUNT_ATTR_RDONLY;
      if (::syscall(SYS_mount_setattr, AT_FDCWD, target, AT_RECURSIVE, &attributes, sizeof attributes) != 0) {
        give_up(plan, "protect a source");
      }
      break;
    }
    case MountStep::Kind::free: {
      mount_attr attributes = {};
      attributes.attr_clr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
      if (::syscall(SYS_mount_setattr, AT_FDCWD, target, 0, &attributes, sizeof attributes) != 0)
        give_up(plan, "show the root");
      break;
    }
  }
}

// Runs in the child, on a stack of its own and possibly in the parent's memory.
NO_SANITIZE int child_main(void* argument) {
  const ChildPlan& plan = *static_cast<const ChildPlan*>(argument);
  for (std::size_t i = 0; i < plan.entrance_count; ++i) {
    if (::write(plan.entrances[i], "0", 1) != 1) give_up(plan, "enter the cgroup");
  }
  if (plan.mount_count > 0) {
    if (::unshare(CLONE_NEWNS) != 0) give_up(plan, "leave the mounts");
    // Later mounts of the host are visible here; mounts made here are not visible to the host.
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) give_up(plan, "part from the mounts");
    for (std::size_t i = 0; i < plan.mount_count; ++i) do_mount_step(plan, plan.mounts[i]);
  }
  // The kernel counts these for all user namespaces together, up to what their maker may have. Programs have limits of
  // their own, so that one sandbox cannot use up what its neighbours need.
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  ::setrlimit(RLIMIT_MSGQUEUE, &unlimited);
  ::setrlimit(RLIMIT_SIGPENDING, &unlimited);
  for (std::size_t i = 0; i < plan.limit_count; ++i) {
    const auto resource = static_cast<__rlimit_resource_t>(plan.limits[i].resource);
    rlimit limit = {};
    if (::getrlimit(resource, &limit) != 0) give_up(plan, "read a limit");
    if (plan.limits[i].limit < limit.rlim_max) limit.rlim_max = plan.limits[i].limit;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(resource, &limit) != 0) give_up(plan, "set a limit");
  }
  ::setsid();  // a terminal's signals are for the server
  ::umask(0022);
  // Away from 0 to 2 first, so that none of them is overwritten before it is used.
  const int in = ::fcntl(plan.in, F_DUPFD_CLOEXEC, 10);
  const int out = ::fcntl(plan.out, F_DUPFD_CLOEXEC, 10);
  const int err = ::fcntl(plan.err, F_DUPFD_CLOEXEC, 10);
  const int failure = ::fcntl(plan.failure_pipe, F_DUPFD_CLOEXEC, 10);
  if (in < 0 || out < 0 || err < 0 || failure < 0) give_up(plan, "copy descriptors");
  if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) give_up(plan, "set descriptors");
  ::dup3(failure, 3, O_CLOEXEC);
  ChildPlan last = plan;
  last.failure_pipe = 3;
  ::syscall(SYS_close_range, 4u, ~0u, 0);
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &by_default, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.program, plan.arguments, plan.environment);
  give_up(last, "execute");
}

// A child that is born in a v2 cgroup, which is quicker by a grace period of the kernel than a move into it.
NO_SANITIZE pid_t start_child_in(ChildPlan& plan, int v2_directory) {
  clone_args how = {};
  how.flags = CLONE_INTO_CGROUP;
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<std::uint64_t>(v2_directory);
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
  if (pid == 0) ::_exit(child_main(&plan));
  return pid;
}

#if defined(__SANITIZE_THREAD__)
constexpr int share_memory = 0;  // the thread sanitizer takes every child for a fork and marks its memory as its own
#else
constexpr int share_memory = CLONE_VM;
#endif

// A child that borrows the parent's memory until it has become the program, so that a large server does not pay for a
// copy.
pid_t start_child(ChildPlan& plan) {
  constexpr std::size_t stack_size = 256 * 1024;
  void* stack = ::mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return -1;
  const pid_t pid =
      ::clone(child_main, static_cast<char*>(stack) + stack_size, share_memory | CLONE_VFORK | SIGCHLD, &plan);
  const int number = errno;
  ::munmap(stack, stack_size);
  errno = number;
  return pid;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

struct Child {
  pid_t pid = -1;
  UniqueFd fd;
};

Result<Child> start(const Command& command, int in, int out, int err) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe");
  const UniqueFd failures(ends[0]);
  UniqueFd failure_pipe(ends[1]);

  std::vector<std::string> arguments = {command.program};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  const auto argument_pointers = pointers(arguments);
  const auto environment_pointers = pointers(environment);
  std::vector<int> entrances;
  const CgroupEntrance none;
  const CgroupEntrance& entrance = command.entrance != nullptr ? *command.entrance : none;
  for (const UniqueFd& fd : entrance.v1_tasks) entrances.push_back(fd.get());
  ChildPlan plan = {command.program.c_str(),
                    argument_pointers.data(),
                    environment_pointers.data(),
                    in,
                    out,
                    err,
                    entrances.data(),
                    entrances.size(),
                    command.private_mounts.data(),
                    command.private_mounts.size(),
                    command.limits.data(),
                    command.limits.size(),
                    failure_pipe.get()};
  // No handler of ours may run in the child.
  sigset_t all;
  sigset_t former;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &former);
  Child child;
  if (entrance.v2_directory) child.pid = start_child_in(plan, entrance.v2_directory.get());
  // Where a filter around Cloche itself hides clone3, the slow way does.
  if (child.pid < 0 && entrance.v2_procs) {
    entrances.push_back(entrance.v2_procs.get());
    plan.entrances = entrances.data();
    plan.entrance_count = entrances.size();
  }
  if (child.pid < 0) child.pid = start_child(plan);
  const int number = errno;
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  if (child.pid < 0) return fail(errno_error("start " + command.program, number));
  child.fd.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  failure_pipe.reset();

  // The pipe closes when the program has started.
  ChildFailure failure = {};
  ssize_t n = 0;
  do {
    n = ::read(failures.get(), &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  if (n == 0 && child.fd) return child;
  ::kill(child.pid, SIGKILL);
  while (::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (n != static_cast<ssize_t>(sizeof failure))
    return fail(ErrorCode::internal, "start " + command.program + ": it ended immediately");
  return fail(errno_error("start " + command.program + ": " + failure.step, failure.number));
}

Result<int> wait_for(const Child& child, Deadline deadline, const std::string& program) {
  bool late = false;
  while (true) {
    pollfd ended = {child.fd.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left());
    const int timeout = deadline.is_never() ? -1 : static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
    const int ready = ::poll(&ended, 1, late ? -1 : timeout);
    if (ready > 0) break;
    if (ready < 0 && errno != EINTR) return fail_errno("wait for " + program);
    if (!late && deadline.passed()) {
      late = true;
      ::syscall(SYS_pidfd_send_signal, child.fd.get(), SIGKILL, nullptr, 0);
    }
  }
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0) {
    if (errno != EINTR) return fail_errno("wait for " + program);
  }
  if (late) return fail(ErrorCode::timeout, program + " did not finish in time and was killed");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<UniqueFd> make_bounded_memory(Bytes most) {
  UniqueFd fd(::memfd_create("cloche-output", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Not accessible to others: gVisor lets a program open what the agent has open through /proc if the file's mode
  // allows it.
  if (!fd || ::fchmod(fd.get(), 0600) != 0 || ::ftruncate(fd.get(), static_cast<off_t>(most.count)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    return fail_errno("create a file in memory");
  }
  return fd;
}

std::string read_bounded_memory(int fd) {
  std::string content(kept_output.count, '\0');
  const ssize_t n = ::pread(fd, content.data(), content.size(), 0);
  content.resize(n > 0 ? ::strnlen(content.data(), static_cast<std::size_t>(n)) : 0);
  return content;
}

Result<CommandEnd> run_command(const Command& command, Deadline deadline) {
  UniqueFd empty_in;
  UniqueFd kept;
  if (command.in < 0) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe");
    empty_in.reset(ends[0]);
    ::close(ends[1]);
  }
  if (command.err < 0) {
    CLOCHE_TRY(kept, make_bounded_memory(kept_output));
  }
  const int err = command.err < 0 ? kept.get() : command.err;
  CLOCHE_TRY(const Child child,
             start(command, command.in < 0 ? empty_in.get() : command.in, command.out < 0 ? err : command.out, err));
  CLOCHE_TRY(const int exit_code, wait_for(child, deadline, command.program));
  return CommandEnd{exit_code, read_bounded_memory(err)};
}

}  // namespace cloche::oci
