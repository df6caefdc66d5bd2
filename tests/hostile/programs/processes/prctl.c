// tries: prctl's ways to power: ambient and bounding capabilities, securebits, no_new_privs undone, its memory layout,
//        the agent's name, a death signal to its overseer; capset to what it has not
// must: be refused what gives power; the rest is its own affair
#include "../attack.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>

int main(void) {
  // capset first: in a weak place what follows takes capabilities away.
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  for (int capability = 0; capability <= 40; ++capability) {
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    data[capability / 32].effective = data[capability / 32].permitted = data[capability / 32].inheritable =
        1U << capability % 32;
    if (fork() == 0) {
      // A kernel that does not know a capability says nothing of it: what counts is whether it has it.
      struct __user_cap_data_struct now[2] = {{0}, {0}};
      if (syscall(SYS_capset, &header, data) == 0 && syscall(SYS_capget, &header, now) == 0 &&
          (now[capability / 32].effective & 1U << capability % 32) != 0) {
        hole("took capability %d", capability);
      }
      _exit(0);
    }
    wait(NULL);
  }
  held("41 capabilities tried");
  must_fail("raise an ambient capability", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0));
  must_fail("lower the bounding set", prctl(PR_CAPBSET_DROP, CAP_WAKE_ALARM, 0, 0, 0));
  must_fail("securebits", prctl(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS, 0, 0, 0));
  must_fail("undo no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
  must_fail("move the program's memory map",
            prctl(PR_SET_MM, PR_SET_MM_START_CODE, BAD_POINTER, 0, 0) < 0 && errno != EPERM ? 0 : -1);
  must_fail("drop the seccomp filter", prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) hole("new privileges are possible");
  prctl(PR_SET_NAME, "cloche-agent", 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  return done();
}
