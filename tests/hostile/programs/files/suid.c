// tries: programs that would run as root: the host's setuid ones, one that the test put into a mount, a copy of its
//        own with the bits set, a copy with file capabilities
// must: stay who it is, without capabilities, whichever it runs
#include "../attack.h"

#include <sys/prctl.h>

static void is_it_more(const char* how) {
  char status[4096] = "";
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && read(fd, status, sizeof status - 1) < 0) status[0] = '\0';
  const char* caps = strstr(status, "CapEff:");
  const unsigned long long effective = caps != NULL ? strtoull(caps + 7, NULL, 16) : 0;
  if (geteuid() != getuid() || geteuid() == 0 || getegid() != getgid() || effective != 0) {
    hole("%s: uid %d, capabilities %llx", how, geteuid(), effective);
  } else {
    held("%s: still uid %d", how, geteuid());
  }
}

static void run(const char* path, const char* how) {
  const pid_t child = fork();
  if (child == 0) {
    execl(path, path, how, NULL);
    held("%s: %s", how, strerror(errno));
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static void copy_of_itself(const char* path, mode_t mode) {
  const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int to = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0755);
  char bytes[65536];
  for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0;) {
    if (write(to, bytes, (size_t)n) != n) break;
  }
  fchmod(to, mode);
  close(from);
  close(to);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    is_it_more(argv[1]);
    return 0;
  }
  is_it_more("as started");
  run("/attack/files/suid-root", "a setuid program in a mount");
  copy_of_itself("/tmp/copy", 06755);
  run("/tmp/copy", "a setuid copy of its own");
  chown("/tmp/copy", 0, 0) == 0 ? hole("chown to root") : held("chown to root: %s", strerror(errno));
  unlink("/tmp/copy");
  prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? held("no new privileges") : hole("new privileges are possible");
  return done();
}
