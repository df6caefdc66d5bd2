// tries: to be taken for ended: closes stdin, stdout and stderr, and goes on
// must: be waited for: the end is told when it comes, with its exit code 7, and not before half a second
#include "../attack.h"

int main(void) {
  held("closing");
  for (int fd = 0; fd < 1024; ++fd) close(fd);
  nap(500);
  _exit(7);
}
