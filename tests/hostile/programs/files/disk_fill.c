// tries: to fill every place it may write, in files small enough each, by write, by fallocate, by appending
// must: meet an end (no space, or its memory) below 200 MB in each
#include "../attack.h"

static const long enough = 200L << 20;

static void fill(const char* place) {
  static char block[1 << 20];
  memset(block, 'x', sizeof block);
  long total = 0;
  int error = 0;
  char path[100];
  int i = 0;
  for (; total < enough && error == 0; ++i) {
    snprintf(path, sizeof path, "%s/fill%d", place, i);
    const int fd = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) {
      error = errno;
      break;
    }
    for (int piece = 0; piece < 8 && error == 0; ++piece) {
      const ssize_t n =
          piece == 7 ? (fallocate(fd, 0, 7 << 20, 1 << 20) == 0 ? 1 << 20 : -1) : write(fd, block, sizeof block);
      if (n < 0)
        error = errno;
      else
        total += n;
    }
    close(fd);
  }
  if (error != 0) {
    held("%s: %ld MB, then %s", place, total >> 20, strerror(error));
  } else {
    hole("%s: %ld MB and no end", place, total >> 20);
  }
  for (int j = 0; j <= i; ++j) {
    snprintf(path, sizeof path, "%s/fill%d", place, j);
    unlink(path);
  }
}

int main(void) {
  signal(SIGXFSZ, SIG_IGN);
  fill("/workspace");
  fill("/tmp");
  fill("/dev/shm");
  fill("/var/tmp");
  return done();
}
