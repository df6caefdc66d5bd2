// tries: more processes than it may have; the argument says which: fork, vfork, threads, zombies, orphans
// must: be refused one below 500, and leave the sandbox able to start the next program
#include "../attack.h"

#include <pthread.h>

static const int far_too_many = 500;

static void* sleep_on(void* unused) {
  for (;;) pause();
  return unused;
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "fork";
  int made = 0;
  int error = 0;
  while (made < far_too_many && error == 0) {
    if (strcmp(kind, "threads") == 0) {
      pthread_attr_t small;
      pthread_attr_init(&small);
      pthread_attr_setstacksize(&small, 16384);
      pthread_t thread;
      error = pthread_create(&thread, &small, sleep_on, NULL);
      made += error == 0;
      continue;
    }
    const pid_t child = strcmp(kind, "vfork") == 0 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) {
      if (strcmp(kind, "zombies") == 0) _exit(0);
      if (strcmp(kind, "orphans") == 0) {
        const pid_t orphan = fork();
        if (orphan != 0) _exit(orphan < 0);
      }
      sleep_on(NULL);
    }
    if (child < 0)
      error = errno;
    else
      ++made;
    int status = 0;
    if (child > 0 && strcmp(kind, "orphans") == 0 && waitpid(child, &status, 0) == child && status != 0) error = EAGAIN;
  }
  if (error != 0) {
    held("%d %s, then %s", made, kind, strerror(error));
  } else {
    hole("%d %s and no end", made, kind);
  }
  return done();
}
