// tries: to become root in a user namespace of its own, and to rewrite the maps of the one it is in
// must: get no new user namespace, and change no map
#include "../attack.h"

#include <sched.h>

static void try_maps(const char* whose) {
  static const char* const files[] = {"uid_map", "gid_map", "setgroups"};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    char path[100], what[150];
    snprintf(path, sizeof path, "/proc/%s/%s", whose, files[i]);
    snprintf(what, sizeof what, "write %s", path);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const char* text = strcmp(files[i], "setgroups") == 0 ? "allow" : "0 0 1";
    must_fail(what, fd < 0 ? -1 : write(fd, text, strlen(text)));
    if (fd >= 0) close(fd);
  }
}

int main(void) {
  try_maps("self");
  try_maps("1");
  if (must_fail("unshare a user namespace", unshare(CLONE_NEWUSER))) {
    char line[40];
    snprintf(line, sizeof line, "0 %d 1", getuid());
    const int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, line, strlen(line)) > 0 && geteuid() == 0) hole("root of a namespace of its own");
  }
  return done();
}
