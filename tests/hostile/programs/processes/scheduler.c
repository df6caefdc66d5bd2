// tries: to be served before everybody else: negative nice, real time, deadlines, io priority; also for others
// must: be refused each
#include "../attack.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/resource.h>

#define IOPRIO_REALTIME (1 << 13)

int main(void) {
  must_fail("nice -20", setpriority(PRIO_PROCESS, 0, -20));
  must_fail("nice -1", setpriority(PRIO_PROCESS, 0, -1));
  struct sched_param priority = {.sched_priority = 1};
  must_fail("SCHED_FIFO", sched_setscheduler(0, SCHED_FIFO, &priority));
  must_fail("SCHED_RR", sched_setscheduler(0, SCHED_RR, &priority));
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } deadline = {.size = 48, .policy = 6, .runtime = 1000000, .deadline = 10000000, .period = 10000000};
  must_fail("SCHED_DEADLINE", syscall(SYS_sched_setattr, 0, &deadline, 0));
  must_fail("real time io", syscall(SYS_ioprio_set, 1, 0, IOPRIO_REALTIME));
  must_fail("nice of process 1", setpriority(PRIO_PROCESS, 1, 19));
  must_fail("nice of its overseer", setpriority(PRIO_PROCESS, (id_t)overseer(), 19));
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  must_fail("affinity of process 1", sched_setaffinity(1, sizeof one, &one));
  must_fail("affinity of its overseer", sched_setaffinity(overseer(), sizeof one, &one));
  must_fail("round robin for process 1", sched_setscheduler(1, SCHED_BATCH, &(struct sched_param){0}));
  return done();
}
