// tries: the same kernel by its other doors: int 0x80 with 32-bit numbers, x32 numbers; forbidden calls through them
// must: not be served there: an error, or the end of who asked
#include "../attack.h"

static long by_int80(long number, long first) {
  long answer = -ENOSYS;
#ifdef __x86_64__
  __asm__ volatile("int $0x80"
                   : "=a"(answer)
                   : "a"(number), "b"(first), "c"(0), "d"(0)
                   : "memory", "r8", "r9", "r10", "r11");
#endif
  return answer;
}

// In a child: being killed for it is an answer too.
static void try_call(const char* what, int (*reaches)(void)) {
  const pid_t child = fork();
  if (child == 0) _exit(reaches() ? 42 : 0);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 42) {
    hole("%s is served", what);
  } else if (WIFSIGNALED(status)) {
    held("%s: ended by signal %d", what, WTERMSIG(status));
  } else {
    held("%s: refused", what);
  }
}

static int getpid32(void) { return by_int80(20, 0) == getpid(); }
static int mount32(void) {
  const long answer = by_int80(21, 1);
  return answer != -EPERM && answer != -ENOSYS && answer != 21;
}
static int unshare32(void) {
  const long answer = by_int80(310, 1);
  return answer != -EPERM && answer != -ENOSYS && answer != 310;
}
static int keyctl32(void) {
  const long answer = by_int80(288, 9999);
  return answer != -EPERM && answer != -ENOSYS && answer != 288;
}
static int getpid_x32(void) { return syscall(0x40000000L | SYS_getpid) == getpid(); }
static int ptrace_x32(void) { return syscall(0x40000000L | 521, 0, 0, 0, 0) >= 0; }
static int mount_x32(void) {
  return syscall(0x40000000L | SYS_mount, 1, 1, 1, 0, 1) >= 0 || (errno != EPERM && errno != ENOSYS);
}

int main(void) {
  try_call("getpid by int 0x80", getpid32);
  try_call("mount by int 0x80", mount32);
  try_call("unshare by int 0x80", unshare32);
  try_call("keyctl by int 0x80", keyctl32);
  try_call("getpid by x32", getpid_x32);
  try_call("ptrace by x32", ptrace_x32);
  try_call("mount by x32", mount_x32);
  return done();
}
