// tries: to overwrite what the next sandbox runs: the agent's and the runtime's program, by /proc/*/exe, by its own
//        name, by O_PATH and /proc/self/fd, by replacing the file in its directory
// must: be refused each way
#include "../attack.h"

#include <dirent.h>
#include <libgen.h>

static void try_file(const char* path) {
  char what[400];
  snprintf(what, sizeof what, "open %s for writing", path);
  must_fail(what, open(path, O_WRONLY | O_CLOEXEC));
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd >= 0) {
    char again[40];
    snprintf(again, sizeof again, "/proc/self/fd/%d", fd);
    snprintf(what, sizeof what, "open %s again for writing", path);
    must_fail(what, open(again, O_WRONLY | O_TRUNC | O_CLOEXEC));
    snprintf(what, sizeof what, "chmod %s", path);
    must_fail(what, chmod(again, 0777));
    close(fd);
  }
}

static void try_directory(const char* file) {
  char copy[300], what[400], planted[400];
  snprintf(copy, sizeof copy, "%s", file);
  const char* directory = dirname(copy);
  snprintf(planted, sizeof planted, "%s/planted", directory);
  snprintf(what, sizeof what, "plant beside %s", file);
  if (must_fail(what, open(planted, O_CREAT | O_WRONLY | O_CLOEXEC, 0755))) unlink(planted);
}

int main(int argc, char** argv) {
  try_file("/proc/1/exe");
  char path[60];
  snprintf(path, sizeof path, "/proc/%d/exe", overseer());
  try_file(path);
  // The file that is process 1, where it is seen: ours, or another that the test names.
  static const char* const programs[] = {"/.cloche/agent", "/cloche-agent",  "/usr/bin/crun",
                                         "/usr/sbin/runc", "/usr/bin/runsc", "/usr/bin/python3"};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
    try_file(programs[i]);
    try_directory(programs[i]);
  }
  if (argc > 1) try_file(argv[1]);
  return done();
}
