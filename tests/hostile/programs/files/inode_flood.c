// tries: to use up inodes, which cost the host's memory and no size of files counts: empty files, links, directories
// must: come to an end far below a hundred thousand, in every place
#include "../attack.h"

static const int far_too_many = 90000;

int main(void) {
  held("flooding");
  static const char* const places[] = {"/workspace", "/tmp", "/dev/shm"};
  for (size_t p = 0; p < sizeof places / sizeof *places; ++p) {
    int made = 0;
    int error = 0;
    char path[100];
    while (made < far_too_many && error == 0) {
      snprintf(path, sizeof path, "%s/%d", places[p], made);
      const int answer = made % 3 == 0   ? mknod(path, S_IFREG | 0600, 0)
                         : made % 3 == 1 ? symlink("x", path)
                                         : mkdir(path, 0700);
      if (answer == 0)
        ++made;
      else
        error = errno;
    }
    if (error != 0) {
      held("%s: %d inodes, then %s", places[p], made, strerror(error));
    } else {
      hole("%s: %d inodes and no end", places[p], made);
    }
    for (int i = 0; i < made; ++i) {
      snprintf(path, sizeof path, "%s/%d", places[p], i);
      if (unlink(path) != 0) rmdir(path);
    }
  }
  return done();
}
