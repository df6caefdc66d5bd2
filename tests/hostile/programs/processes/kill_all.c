// tries: kill(-1) with every deadly signal, and the group of its overseer
// must: reach what is its own alone: everybody else lives, the agent answers, the neighbour knows nothing of it
#include "../attack.h"

enum { most = 4096 };

static int lives(pid_t pid) {
  if (kill(pid, 0) != 0 && errno != EPERM) return 0;
  // Dead, and not reaped yet, as far as that can be seen.
  char path[40], status[200] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 1;
  const ssize_t n = read(fd, status, sizeof status - 1);
  close(fd);
  const char* end = n > 0 ? strrchr(status, ')') : NULL;
  return end == NULL || end[2] != 'Z';
}

int main(void) {
  const pid_t watcher = overseer();
  setsid();
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  // Its own, which must be reached: otherwise it was not tried.
  const pid_t own = fork();
  if (own == 0) {
    for (;;) pause();
  }
  static char lived[most];
  for (pid_t pid = 1; pid < most; ++pid) lived[pid] = pid != own && (char)lives(pid);
  // kill(-1) spares the caller, and returns 0 even if no process could be signalled.
  static const int signals[] = {SIGTERM, SIGHUP, SIGKILL};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) kill(-1, signals[i]);
  int status = 0;
  waitpid(own, &status, 0);
  WIFSIGNALED(status) ? held("its own child was reached") : hole("nobody was reached");
  if (watcher > 1) must_fail("kill the group of the overseer", kill(-watcher, SIGKILL));
  nap(100);
  int others = 0;
  for (pid_t pid = 1; pid < most; ++pid) {
    if (!lived[pid]) continue;
    ++others;
    if (!lives(pid)) hole("process %d is gone", pid);
  }
  held("%d others live", others);
  getppid() == watcher ? held("the overseer lives") : hole("the overseer is gone");
  return done();
}
