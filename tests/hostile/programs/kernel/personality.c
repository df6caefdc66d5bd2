// tries: personalities that weaken a program's own walls or name another system: no mapping at 0, execute implied, SVR4
// must: get none but the harmless ones; the clock and the kernel's log are not its to change or read
#include "../attack.h"

#include <sys/klog.h>
#include <sys/timex.h>

int main(void) {
  static const unsigned long kinds[] = {0x0100000, 0x0400000, 0x4000000, 0x8000000, 0x0001, 0x0007};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    char what[60];
    snprintf(what, sizeof what, "personality %#lx", kinds[i]);
    if (fork() == 0) {
      must_fail(what, syscall(SYS_personality, kinds[i]));
      _exit(0);
    }
    wait(NULL);
  }
  // An invalid offset: EINVAL shows that the call is allowed.
  struct timex change = {.modes = ADJ_SETOFFSET, .time = {0, -1}};
  must_fail("adjtimex", adjtimex(&change) < 0 && errno == EINVAL ? 0 : -1);
  must_fail("clock_adjtime", clock_adjtime(CLOCK_REALTIME, &change) < 0 && errno == EINVAL ? 0 : -1);
  char log[256];
  must_fail("read the kernel's log", klogctl(3, log, sizeof log));
  must_fail("ask the log's size", klogctl(10, NULL, 0));
  return done();
}
