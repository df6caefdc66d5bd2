// tries: to drown who reads; the argument says how: both (streams at once), line (without an end), events (descriptor
// 3) must: be cut at what is kept, and ended at what is too much; nobody holds it all in memory
#include "../attack.h"

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "both";
  static char block[65536];
  memset(block, 'x', sizeof block);
  if (strcmp(how, "both") == 0) {
    for (size_t i = 99; i < sizeof block; i += 100) block[i] = '\n';
  }
  held("flooding");
  signal(SIGPIPE, SIG_DFL);
  for (long total = 0; total < 100L << 20; total += sizeof block) {
    if (strcmp(how, "events") == 0) {
      if (write(3, block, sizeof block) < 0) return 1;
      continue;
    }
    if (write(1, block, sizeof block) < 0) return 1;
    if (strcmp(how, "both") == 0 && write(2, block, sizeof block) < 0) return 1;
  }
  return done();
}
