// tries: every descriptor number up to 65535, and /proc/self/fd, for one that was left open by whoever started it
// must: find 0, 1 and 2 alone; none of them leads to a directory, a socket, or a file of the host
#include "../attack.h"

#include <dirent.h>

int main(void) {
  int open_ones = 0;
  for (int fd = 3; fd <= 65535; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) continue;
    char path[40], name[300];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(path, name, sizeof name - 1);
    name[n > 0 ? n : 0] = '\0';
    hole("descriptor %d is open: %s", fd, name);
    ++open_ones;
  }
  if (open_ones == 0) held("descriptors 3 to 65535 are closed");
  for (int fd = 0; fd <= 2; ++fd) {
    struct stat about;
    if (fstat(fd, &about) != 0) continue;
    if (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode)) {
      held("descriptor %d is a pipe or /dev/null", fd);
    } else {
      hole("descriptor %d is of kind %o", fd, about.st_mode & S_IFMT);
    }
    // A pipe's other end, opened again by its name: stdin's writing end, stdout's reading end.
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (S_ISFIFO(about.st_mode)) {
      const int other = open(path, (fd == 0 ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC);
      held("the other end of %d: %s", fd, other >= 0 ? "its own pipe" : strerror(errno));
    }
  }
  return done();
}
