// tries: to leave a process behind; the argument says how: daemon, stopped, hopper, subreaper, traced, threads, deaf
//        With `stay` after it the program does not end by itself: its time limit must
// must: be gone, all of it, once the run has ended (look_for.c looks)
#include "../attack.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

static void call_it(const char* name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

static void be_deaf(void) {
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_IGN);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
}

static void sleep_on(void) {
  for (;;) nap(1000);
}

static void let_go(void) {
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
}

// Twice forked, a session of its own, no descriptor, no mark in its environment.
static int leave(void) {
  if (fork() != 0) return 0;
  setsid();
  if (fork() != 0) _exit(0);
  clearenv();
  call_it("escapee");
  if (chdir("/") != 0) _exit(1);
  return 1;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "daemon";
  held("leaving by %s", how);
  const int stays = argc > 2 && strcmp(argv[2], "stay") == 0;
  // The child says when it is where it wants to be.
  int ready[2];
  if (pipe(ready) != 0) return 1;
  if (strcmp(how, "subreaper") == 0) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (strcmp(how, "deaf") == 0 || leave()) {
    call_it("escapee");
    if (strcmp(how, "traced") == 0) ptrace(PTRACE_TRACEME, 0, 0, 0);
    if (strcmp(how, "deaf") == 0) {
      be_deaf();
    } else {
      let_go();
      be_deaf();
    }
    if (write(ready[1], "x", 1) != 1) _exit(1);
    if (strcmp(how, "stopped") == 0) {
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, NULL);
      raise(SIGSTOP);
    }
    if (strcmp(how, "hopper") == 0) {
      // Never the same pid for longer than a moment; it ends by itself after many, so that a weak place ends too.
      signal(SIGCHLD, SIG_IGN);
      for (const int64_t end = now_ms() + 30000; now_ms() < end;) {
        if (fork() > 0) _exit(0);
        nap(1);
      }
      _exit(0);
    }
    if (strcmp(how, "threads") == 0) {
      for (int i = 0; i < 5; ++i) {
        if (fork() == 0) sleep_on();
      }
    }
    if (strcmp(how, "deaf") != 0) sleep_on();
  }
  char byte;
  if (strcmp(how, "deaf") != 0 && read(ready[0], &byte, 1) != 1) return 1;
  held("left behind by %s", how);
  if (stays) sleep_on();
  if (strcmp(how, "deaf") == 0) sleep_on();
  return done();
}
