// tries: nothing: it is a program that lives beside an attacker of the same user, and has a daemon
// must: live on with its daemon while others end, and end with it
#include "../attack.h"

#include <sys/prctl.h>

int main(void) {
  int ready[2];
  if (pipe(ready) != 0) return 1;
  const pid_t between = fork();
  if (between == 0) {
    setsid();
    const pid_t daemon = fork();
    if (daemon != 0) {
      write(ready[1], &daemon, sizeof daemon);
      _exit(0);
    }
    prctl(PR_SET_NAME, "companion", 0, 0, 0);
    for (;;) nap(1000);
  }
  pid_t daemon = 0;
  if (read(ready[0], &daemon, sizeof daemon) != sizeof daemon) return 1;
  waitpid(between, NULL, 0);
  held("living");
  char byte;
  // Until its input ends.
  while (read(0, &byte, 1) > 0) {
  }
  kill(daemon, 0) == 0 ? held("its daemon lives") : hole("its daemon was ended");
  return done();
}
