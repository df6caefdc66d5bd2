// tries: every signal that stops or ends, to process 1, to its overseer and to every pid there is: kill, tgkill,
//        sigqueue, pidfd_send_signal, the owner of a descriptor's signals
// must: be refused; whatever it signals is its own
#include "../attack.h"

#include <sys/syscall.h>

static void try_pid(pid_t pid, int say_held) {
  static const int signals[] = {SIGSTOP, SIGKILL, SIGTERM, SIGHUP, SIGCHLD, SIGCONT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) {
    char what[100];
    snprintf(what, sizeof what, "signal %d to process %d", signals[i], pid);
    union sigval value = {0};
    const int reached = kill(pid, signals[i]) == 0 || syscall(SYS_tgkill, pid, pid, signals[i]) == 0 ||
                        sigqueue(pid, signals[i], value) == 0;
    if (reached) {
      hole("%s", what);
    } else if (say_held) {
      held("%s: %s", what, strerror(errno));
    }
  }
  const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd >= 0) {
    if (syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0) == 0)
      hole("a signal by pidfd to process %d", pid);
    else
      held("a signal by pidfd to process %d: %s", pid, strerror(errno));
    close(fd);
  }
}

int main(void) {
  try_pid(overseer(), 1);
  try_pid(1, 1);
  const pid_t self = getpid();
  for (pid_t pid = 2; pid < 4096; ++pid) {
    if (pid == self || pid == overseer()) continue;
    if (kill(pid, 0) == 0) {
      hole("process %d takes signals", pid);
    }
  }
  held("pids up to 4096");
  return done();
}
