// tries: to keep its reader waiting: a child that holds stdout and stderr open, and writes after the end
// must: be told as ended when it ends; what comes later is nobody's
#include "../attack.h"

int main(void) {
  held("leaving a child with the streams");
  if (fork() == 0) {
    setsid();
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 300; ++i) {
      nap(100);
      if (write(1, "LATE\n", 5) < 0) _exit(0);
    }
    _exit(0);
  }
  return 5;
}
