// tries: a tree that is deeper than any path may be long, to stop who walks it or removes it
// must: be listed within bounds and be removed
#include "../attack.h"

int main(void) {
  if (mkdir("/workspace/deep", 0755) != 0 || chdir("/workspace/deep") != 0) return 1;
  int depth = 0;
  for (; depth < 5000; ++depth) {
    if (mkdir("d", 0755) != 0 || chdir("d") != 0) break;
  }
  close(open("bottom", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  held("%d levels", depth);
  return done();
}
