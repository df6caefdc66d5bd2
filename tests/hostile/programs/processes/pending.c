// tries: to use up what the kernel keeps for a user: queued signals, timers, inotify instances, message queues
// must: meet an end in each far below what would be felt by others
#include "../attack.h"

#include <mqueue.h>
#include <sys/inotify.h>

int main(void) {
  const int far_too_many = 40000;
  // gVisor limits timers by the sandbox's memory alone; 40000 of them take about 128 MiB there.
  const int far_too_many_timers = 400000;
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGRTMIN);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  int n = 0;
  union sigval value = {0};
  while (n < far_too_many && sigqueue(getpid(), SIGRTMIN, value) == 0) ++n;
  n < far_too_many ? held("%d queued signals", n) : hole("%d queued signals and no end", n);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
  for (n = 0; n < far_too_many_timers; ++n) {
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) break;
  }
  n < far_too_many_timers ? held("%d timers", n) : hole("%d timers and no end", n);
  for (n = 0; n < 4096 && inotify_init1(IN_CLOEXEC) >= 0;) ++n;
  n < 4096 ? held("%d inotify instances", n) : hole("%d inotify instances and no end", n);
  for (int fd = 3; fd < 4200; ++fd) close(fd);
  struct mq_attr shape = {.mq_maxmsg = 10, .mq_msgsize = 8192};
  for (n = 0; n < 1000; ++n) {
    char name[20];
    snprintf(name, sizeof name, "/q%d", n);
    const mqd_t queue = mq_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600, &shape);
    if (queue == (mqd_t)-1) break;
  }
  n < 1000 ? held("%d message queues", n) : hole("%d message queues and no end", n);
  for (int i = 0; i < n; ++i) {
    char name[20];
    snprintf(name, sizeof name, "/q%d", i);
    mq_unlink(name);
  }
  return done();
}
