// tries: to block who feeds it: never reads its stdin, and prints more than a pipe holds before it ends
// must: end as it likes, with all it printed, however much it was sent
#include "../attack.h"

int main(void) {
  held("not reading");
  static char block[4096];
  memset(block, 'y', sizeof block);
  for (int i = 0; i < 100; ++i) {
    if (write(1, block, sizeof block) < 0) return 1;
  }
  return 6;
}
