// tries: to leave a process behind; the argument says how: daemon, stopped, hopper, session_hopper, subreaper, traced,
//        threads, deaf; and how it looks like no program's, or like another's: forged, groups, userns, named, sibling
//        With `stay` after it the program does not end by itself: its time limit must
// must: be gone, all of it, once the run has ended (look_for.c looks)
#include "../attack.h"

#include <grp.h>
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

// Marks of programs that do not exist, where the agent might look for one.
static void forge_marks(void) {
  static char* const marks[] = {"CLOCHE_HOSTILE=inside", "CLOCHE_EXEC=999999", "CLOCHE_EXEC=1",
                                "CLOCHE_EXEC=",          "CLOCHE_MARK=62000",  NULL};
  static char* const again[] = {"escapee", "forged-on", NULL};
  execve("/proc/self/exe", again, marks);
}

// The groups that may be another program's mark, all of them; and none.
static void change_groups(void) {
  gid_t all[100];
  for (gid_t group = 62000; group < 65000; group += 100) {
    for (gid_t i = 0; i < 100; ++i) all[i] = group + i;
    if (setgroups(100, all) == 0) hole("it gave itself groups");
  }
  if (setgroups(0, NULL) == 0) hole("it gave its groups up");
}

// Root of its own user namespace, if that is possible: no group, and user 0 as seen from there.
static void become_root(void) {
  const unsigned uid = getuid(), gid = getgid();
  if (unshare(CLONE_NEWUSER) != 0) return;
  char map[40];
  int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
  snprintf(map, sizeof map, "0 %u 1", uid);
  if (fd >= 0) write(fd, map, strlen(map));
  if (fd >= 0) close(fd);
  fd = open("/proc/self/gid_map", O_WRONLY | O_CLOEXEC);
  snprintf(map, sizeof map, "0 %u 1", gid);
  if (fd >= 0) write(fd, map, strlen(map));
  if (fd >= 0) close(fd);
  setgroups(0, NULL);
  setresuid(0, 0, 0);
}

// Never the same pid for longer than a moment; it ends by itself after a while, so that a weak place ends too.
static void hop(int new_session) {
  signal(SIGCHLD, SIG_IGN);
  for (const int64_t end = now_ms() + 30000; now_ms() < end;) {
    if (fork() > 0) _exit(0);
    if (new_session) setsid();
    nap(1);
  }
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "forged-on") == 0) {
    call_it("escapee");
    write(3, "x", 1);
    close(3);
    sleep_on();
  }
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
    if (strcmp(how, "forged") == 0) {
      dup2(ready[1], 3);
      forge_marks();
    }
    if (strcmp(how, "groups") == 0) change_groups();
    if (strcmp(how, "userns") == 0) become_root();
    // A line that looks like the kernel's word on who it is.
    if (strcmp(how, "named") == 0) call_it("e\nUid:\t0\t0\t0\t0");
    // A child of the agent itself.
    if (strcmp(how, "sibling") == 0 && syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) > 0) _exit(0);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    if (strcmp(how, "stopped") == 0) {
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, NULL);
      raise(SIGSTOP);
    }
    if (strcmp(how, "hopper") == 0) hop(0);
    if (strcmp(how, "session_hopper") == 0) hop(1);
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
