// tries: a namespace of every kind, and all at once; the argument says by which call: unshare, clone, clone3, setns
// must: get none
#include "../attack.h"

#include <dirent.h>
#include <linux/sched.h>
#include <sched.h>

static const struct {
  const char* name;
  unsigned long flag;
} kinds[] = {{"mount", 0x20000},          {"cgroup", 0x2000000}, {"uts", 0x4000000},
             {"ipc", 0x8000000},          {"user", 0x10000000},  {"pid", 0x20000000},
             {"net", 0x40000000},         {"time", 0x80},        {"user and mount", 0x10020000},
             {"user and net", 0x50000000}};

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && strcmp(how, "setns") != 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      char what[100];
      snprintf(what, sizeof what, "%s a %s namespace", how, kinds[i].name);
      long answer = -1;
      if (strcmp(how, "unshare") == 0) answer = syscall(SYS_unshare, kinds[i].flag);
      // For clone the bits of the time namespace are the signal's.
      else if (strcmp(how, "clone") == 0 && kinds[i].flag != 0x80)
        answer = syscall(SYS_clone, kinds[i].flag | SIGCHLD, 0, 0, 0, 0);
      else if (strcmp(how, "clone3") == 0) {
        struct clone_args arguments = {.flags = kinds[i].flag, .exit_signal = SIGCHLD};
        answer = syscall(SYS_clone3, &arguments, sizeof arguments);
      } else
        errno = EPERM;
      if (answer != 0 || strcmp(how, "unshare") == 0) must_fail(what, answer);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  static const char* const names[] = {"mnt", "pid", "net", "user", "ipc", "uts", "cgroup"};
  char processes[2][20] = {"self", "1"};
  for (int p = 0; p < 2 && strcmp(how, "setns") == 0; ++p) {
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
      char path[60], what[100];
      snprintf(path, sizeof path, "/proc/%s/ns/%s", processes[p], names[i]);
      const int fd = open(path, O_RDONLY | O_CLOEXEC);
      snprintf(what, sizeof what, "enter %s", path);
      if (fd < 0) {
        held("%s: %s", path, strerror(errno));
      } else if (setns(fd, 0) < 0 && errno == EINVAL) {
        hole("%s: the kernel looked", what);
      } else {
        must_fail(what, setns(fd, 0));
      }
      if (fd >= 0) close(fd);
    }
  }
  return done();
}
