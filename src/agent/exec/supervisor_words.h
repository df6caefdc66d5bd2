/* What a supervisor and the agent say to each other, over a seqpacket socket. Plain numbers: both are of one build, and
   one of the supervisors is C without a library (zygote/watcher.c). */
#pragma once

#include <stdint.h>

/* Agent to supervisor, first and where the supervisor does not know them yet. Zero: none. */
struct SupervisorLimits {
  uint64_t wall_ms;
  uint64_t cpu_ms;
};

/* Supervisor to agent: once that the program has started, unless it could not be, and once how it ended. */
struct SupervisorReport {
  uint32_t has_ended;
  int32_t pid;
  int32_t status;   /* as from wait(); -1 if it is unknown because the program was killed and did not die */
  uint32_t stopped; /* a wire::StopReason */
  uint64_t wall_us;
  uint64_t user_us;
  uint64_t system_us;
  uint64_t peak_rss_bytes; /* of the largest process of the tree */
  int32_t error;           /* why the program could not be started, and what failed; zero: it was */
  char failed_step[60];
};

/* Takes off what was spent before the program was one: a fork's work is the kernel's, nearly all of it. */
static inline void leave_out(struct SupervisorReport* report, uint64_t spent_us) {
  const uint64_t of_system = spent_us < report->system_us ? spent_us : report->system_us;
  const uint64_t rest = spent_us - of_system;
  report->system_us -= of_system;
  report->user_us -= rest < report->user_us ? rest : report->user_us;
}
