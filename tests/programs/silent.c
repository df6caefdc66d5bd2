// An agent that never says that it is ready.
#include <unistd.h>

int main(void) {
  for (;;) pause();
}
