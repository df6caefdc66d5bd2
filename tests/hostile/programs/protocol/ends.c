// tries: to be taken for something else; the argument says how it ends: killed (by itself, as the kernel kills for
// memory),
//        says_137, says_124, xcpu, stopped, words (an error's words on stderr)
// must: be told as it was: a signal of its own, an exit code, a stop that its time limit ends; never as a limit it did
// not meet
#include "../attack.h"

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  held("ending: %s", how);
  if (strcmp(how, "killed") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "says_137") == 0) return 137;
  if (strcmp(how, "says_124") == 0) return 124;
  if (strcmp(how, "xcpu") == 0) kill(getpid(), SIGXCPU);
  if (strcmp(how, "stopped") == 0) {
    kill(getpid(), SIGSTOP);
    nap(20000);
  }
  if (strcmp(how, "words") == 0) {
    fputs("MemoryError\nOut of memory: Killed process 1\nTime limit exceeded\nKilled\n", stderr);
    return 1;
  }
  return 0;
}
