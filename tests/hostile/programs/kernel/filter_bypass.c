// tries: to get round the system call filter: a tracer that swaps the call's number after the check, a filter of its
//        own that allows all, a filter that hands calls to a listener, a call from a vsyscall or another thread
// must: find the filter in force each time
#include "../attack.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>

static int refused(long answer) { return answer == -1 && (errno == EPERM || errno == ENOSYS); }

static void tracer(void) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    // Swapped for unshare(1): EINVAL would say that it was served.
    errno = 0;
    const long answer = syscall(SYS_getppid, 1);
    _exit(answer == -1 && errno == EINVAL ? 42 : 0);
  }
  int status;
  waitpid(child, &status, 0);
  int swapped = 0;
  while (!WIFEXITED(status) && !WIFSIGNALED(status)) {
#ifdef __x86_64__
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, child, 0, &registers) == 0 && registers.orig_rax == SYS_getppid && !swapped) {
      registers.orig_rax = SYS_unshare;
      ptrace(PTRACE_SETREGS, child, 0, &registers);
      swapped = 1;
    }
#endif
    if (ptrace(PTRACE_SYSCALL, child, 0, 0) != 0) break;
    if (waitpid(child, &status, 0) < 0) break;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 42)
    hole("a tracer's unshare was served");
  else
    held("a tracer's unshare: %s", swapped ? "refused" : "not even traced");
}

static void own_filter(void) {
  struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {1, allow};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  refused(syscall(SYS_unshare, 1)) ? held("a filter that allows all")
                                   : hole("a filter that allows all lets unshare through");
}

static void listener(void) {
  struct sock_filter notify[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {1, notify};
  const long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  // A listener may answer for a call; it cannot make the kernel do one that another filter refuses.
  refused(syscall(SYS_unshare, 1)) ? held("a listener's filter (%s)", fd >= 0 ? "made" : strerror(errno))
                                   : hole("a listener's filter lets unshare through");
}

int main(void) {
  refused(syscall(SYS_unshare, 1)) ? held("unshare is refused") : hole("unshare is served: %s", strerror(errno));
  tracer();
  own_filter();
  listener();
  return done();
}
