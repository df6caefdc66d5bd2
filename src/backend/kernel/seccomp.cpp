#include "backend/kernel/seccomp.hpp"

#include <boost/json/array.hpp>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

namespace cloche {

namespace {

namespace json = boost::json;

// Names that an architecture or a library does not know are left out by the runtime.
constexpr std::string_view files = R"(
    access chdir chmod chown chown32 close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
    fadvise64 fadvise64_64 fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl
    fcntl64 fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64
    fsync ftruncate ftruncate64 futimesat getcwd getdents getdents64 getxattr inotify_add_watch inotify_init
    inotify_init1 inotify_rm_watch ioctl lchown lchown32 lgetxattr link linkat listxattr llistxattr _llseek
    lremovexattr lseek lsetxattr lstat lstat64 mkdir mkdirat mknod mknodat newfstatat open
    openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv
    removexattr rename renameat renameat2 rmdir sendfile sendfile64 setxattr splice stat stat64 statfs statfs64
    statx symlink symlinkat sync sync_file_range syncfs tee truncate truncate64 umask unlink unlinkat utime
    utimensat utimensat_time64 utimes vmsplice write writev cachestat)";
constexpr std::string_view memory = R"(
    brk madvise map_shadow_stack membarrier memfd_create memfd_secret mincore mlock mlock2 mlockall mmap mmap2
    mprotect mremap msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_mrelease
    remap_file_pages)";
constexpr std::string_view processes = R"(
    capget capset execve execveat exit exit_group fork futex futex_requeue futex_time64 futex_wait futex_waitv
    futex_wake getcpu getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getpgid getpgrp
    getpid getppid getpriority getresgid getresgid32 getresuid getresuid32 getrlimit get_robust_list getrusage
    getsid get_thread_area gettid getuid getuid32 ioprio_get ioprio_set kill landlock_add_rule
    landlock_create_ruleset landlock_restrict_self pause pidfd_open pidfd_send_signal prctl prlimit64
    process_vm_readv process_vm_writev ptrace restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask
    rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo
    sched_getaffinity sched_getattr sched_getparam sched_get_priority_max sched_get_priority_min
    sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity sched_setattr
    sched_setparam sched_setscheduler sched_yield seccomp setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32
    setgroups setgroups32 setpgid setpriority setregid setregid32 setresgid setresgid32 setresuid setresuid32
    setreuid setreuid32 setrlimit set_robust_list setsid set_thread_area set_tid_address setuid setuid32
    sigaltstack signalfd signalfd4 sigprocmask sigreturn sysinfo tgkill tkill ugetrlimit uname vfork wait4 waitid
    waitpid)";
constexpr std::string_view waiting_and_time = R"(
    adjtimex alarm clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime clock_gettime64
    clock_nanosleep clock_nanosleep_time64 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait
    epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 getitimer getrandom gettimeofday nanosleep _newselect pipe pipe2 poll ppoll
    ppoll_time64 pselect6 pselect6_time64 select setitimer time timer_create timer_delete timer_getoverrun
    timer_gettime timer_gettime64 timer_settime timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64
    timerfd_settime timerfd_settime64 times)";
constexpr std::string_view talking = R"(
    accept accept4 bind connect getpeername getsockname getsockopt ipc listen mq_getsetattr mq_notify mq_open
    mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink msgctl msgget msgrcv msgsnd
    recv recvfrom recvmmsg recvmmsg_time64 recvmsg semctl semget semop semtimedop semtimedop_time64 send sendmmsg
    sendmsg sendto setsockopt shmat shmctl shmdt shmget shutdown socketcall socketpair)";
#if defined(__x86_64__)
constexpr std::string_view of_the_machine = R"(
    arch_prctl modify_ldt)";
constexpr std::string_view architecture = "SCMP_ARCH_X86_64";
#elif defined(__aarch64__)
constexpr std::string_view of_the_machine = R"(
    arm_fadvise64_64 arm_sync_file_range breakpoint cacheflush set_tls sync_file_range2)";
constexpr std::string_view architecture = "SCMP_ARCH_AARCH64";
#else
#error "the list of system calls is not known for this architecture"
#endif

// Flags of clone(2) that make a namespace.
constexpr std::uint64_t namespace_flags = 0x7E02'0000;
// Values used by `setarch` and old binaries: plain Linux, 32-bit uname, no randomised addresses; and the query.
constexpr std::uint64_t harmless_personalities[] = {0x0, 0x8, 0x2'0000, 0x2'0008, 0xffff'ffff};
constexpr std::uint64_t af_vsock = 40;  // would reach the host of a virtual machine

json::object rule(std::initializer_list<std::string_view> names, std::string_view action) {
  json::array list;
  for (const std::string_view name : names) list.emplace_back(json::string(name));
  return {{"names", std::move(list)}, {"action", action}};
}

json::object when(json::object rule, std::uint64_t argument, std::string_view comparison, std::uint64_t value,
                  std::uint64_t second = 0) {
  rule["args"] =
      json::array{json::object{{"index", argument}, {"value", value}, {"valueTwo", second}, {"op", comparison}}};
  return rule;
}

}  // namespace

json::object seccomp_profile(SeccompDialect dialect) {
  constexpr std::string_view allow = "SCMP_ACT_ALLOW";
  json::array always;
  const auto add = [&](std::string_view names) {
    std::istringstream words{std::string(names)};
    for (std::string name; words >> name;) always.emplace_back(std::move(name));
  };
  add(files);
  add(memory);
  add(processes);
  add(waiting_and_time);
  add(talking);
  add(of_the_machine);

  json::array rules;
  rules.push_back(json::object{{"names", std::move(always)}, {"action", allow}});
  for (const std::uint64_t value : harmless_personalities) {
    rules.push_back(when(rule({"personality"}, allow), 0, "SCMP_CMP_EQ", value));
  }
  rules.push_back(when(rule({"clone"}, allow), 0, "SCMP_CMP_MASKED_EQ", namespace_flags, 0));
  rules.push_back(when(rule({"socket"}, allow), 0, "SCMP_CMP_NE", af_vsock));
  // The flags of clone3 are behind a pointer, where no filter sees them. "Not there" makes C libraries take clone, and
  // EPERM would make every new thread fail. gVisor's own clone3 decides for itself.
  json::object clone3 = rule({"clone3"}, dialect == SeccompDialect::gvisor ? allow : "SCMP_ACT_ERRNO");
  if (dialect == SeccompDialect::linux_kernel) clone3["errnoRet"] = ENOSYS;
  rules.push_back(std::move(clone3));

  // A context of asynchronous I/O takes of what the whole host has (fs.aio-max-nr). "Not there" makes programs use
  // threads. gVisor's contexts are its own.
  json::object aio = rule({"io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit"},
                          dialect == SeccompDialect::gvisor ? allow : "SCMP_ACT_ERRNO");
  if (dialect == SeccompDialect::linux_kernel) aio["errnoRet"] = ENOSYS;
  rules.push_back(std::move(aio));

  // The machine's own alone: system calls of its 32-bit ancestor are a second kernel surface, and putting a filter for
  // them together costs every sandbox 10 ms. A program that makes one is killed.
  json::array machines;
  machines.emplace_back(json::string(architecture));
  return {{"defaultAction", "SCMP_ACT_ERRNO"}, {"architectures", std::move(machines)}, {"syscalls", std::move(rules)}};
}

}  // namespace cloche
