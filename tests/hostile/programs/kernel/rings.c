// tries: kernel interfaces that do work for a program out of a filter's sight: io_uring, bpf, perf, userfaultfd
// must: get a descriptor of none
#include "../attack.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>

int main(void) {
  unsigned char parameters[120] = {0};
  const long ring = syscall(425, 4, parameters);
  must_fail("io_uring", ring);
  union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
  must_fail("bpf map", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
  struct perf_event_attr event = {
      .type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_CPU_CLOCK, .exclude_kernel = 1};
  must_fail("perf of itself", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
  must_fail("perf of a processor", syscall(SYS_perf_event_open, &event, -1, 0, -1, 0));
  must_fail("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
  must_fail("userfaultfd for its own", syscall(SYS_userfaultfd, O_CLOEXEC | 1));
  must_fail("fanotify", syscall(SYS_fanotify_init, 0, O_RDONLY));
  must_fail("fanotify, unprivileged", syscall(SYS_fanotify_init, 0x200, O_RDONLY));
  return done();
}
