// tries: to trace, read, write, or take descriptors from process 1 and from its overseer
// must: be refused by every call that could
#include "../attack.h"

#include <sys/ptrace.h>
#include <sys/uio.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static void try_pid(pid_t pid) {
  char what[100];
  snprintf(what, sizeof what, "attach to %d", pid);
  if (must_fail(what, ptrace(PTRACE_ATTACH, pid, 0, 0))) {
    waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_DETACH, pid, 0, 0);
  }
  snprintf(what, sizeof what, "seize %d", pid);
  if (must_fail(what, ptrace(PTRACE_SEIZE, pid, 0, 0))) {
    ptrace(PTRACE_INTERRUPT, pid, 0, 0);
    waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_DETACH, pid, 0, 0);
  }
  char bytes[16];
  struct iovec local = {bytes, sizeof bytes};
  // Where a static program that is not relocated begins; and a page that any has.
  struct iovec remote = {(void*)0x400000, sizeof bytes};
  snprintf(what, sizeof what, "read memory of %d", pid);
  const ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  if (n < 0 && errno == EFAULT)
    hole("%s: the kernel looked", what);
  else
    must_fail(what, n);
  snprintf(what, sizeof what, "write memory of %d", pid);
  const ssize_t written = process_vm_writev(pid, &local, 1, &(struct iovec){BAD_POINTER, 1}, 1, 0);
  if (written < 0 && errno == EFAULT)
    hole("%s: the kernel looked", what);
  else
    must_fail(what, written);
  const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  for (int number = 0; fd >= 0 && number < 8; ++number) {
    snprintf(what, sizeof what, "take descriptor %d of %d", number, pid);
    const long got = syscall(SYS_pidfd_getfd, fd, number, 0);
    if (got < 0 && errno == EBADF)
      hole("%s: the kernel looked", what);
    else
      must_fail(what, got);
  }
  snprintf(what, sizeof what, "compare with %d", pid);
  must_fail(what, syscall(SYS_kcmp, getpid(), pid, 0, 0, 0));
  snprintf(what, sizeof what, "limits of %d", pid);
  must_fail(what, syscall(SYS_prlimit64, pid, 7, NULL, bytes));
  snprintf(what, sizeof what, "robust list of %d", pid);
  void* list;
  size_t length;
  must_fail(what, syscall(SYS_get_robust_list, pid, &list, &length));
}

int main(void) {
  try_pid(1);
  try_pid(overseer());
  return done();
}
