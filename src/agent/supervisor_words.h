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
  int32_t status;   /* as wait() tells it; -1 where it is not known, because the program was killed and would not die */
  uint32_t stopped; /* a wire::StopReason */
  uint64_t wall_us;
  uint64_t user_us;
  uint64_t system_us;
  uint64_t peak_rss_bytes; /* of the largest process of the tree */
  int32_t error;           /* why the program could not be started, and what failed; zero: it was */
  char failed_step[60];
};
