// tries: to take both processors for itself: a spinning process for each, and more, for longer than its limit of cpu
// time must: be ended when the tree has used what it may; how it ended is told as that
#include "../attack.h"

int main(void) {
  for (int i = 0; i < 3; ++i) {
    if (fork() == 0) break;
  }
  held("burning");
  // Ends by itself only where nothing ends it.
  for (const int64_t end = now_ms() + 4000; now_ms() < end;) {
  }
  hole("it burned to its end");
  return done();
}
