// tries: to speak on the agent's channel: frames and garbage into every descriptor it has or can open by /proc
// must: have no such descriptor, and open none
#include "../attack.h"

#include <sys/sysmacros.h>

// A `close` of stream 1 that says: ended well. Type, lane, flags, magic, stream, length, payload, seal.
static const unsigned char frame[] = {9, 0, 0, 0xc1, 1, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0xa5};

int main(void) {
  for (int fd = 3; fd < 4096; ++fd) {
    if (write(fd, frame, sizeof frame) > 0) hole("descriptor %d took a frame", fd);
  }
  held("descriptors 3 to 4095");
  // Its own are allowed. All others are not.
  static const char* const whose[] = {"1", "2", "parent"};
  for (size_t w = 0; w < sizeof whose / sizeof *whose; ++w) {
    for (int fd = 0; fd < 64; ++fd) {
      char path[60];
      if (strcmp(whose[w], "parent") == 0)
        snprintf(path, sizeof path, "/proc/%d/fd/%d", overseer(), fd);
      else
        snprintf(path, sizeof path, "/proc/%s/fd/%d", whose[w], fd);
      if (atoi(whose[w]) == getpid()) continue;
      const int opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      struct stat about;
      // Some kernels open a link of /proc by its name; /dev/null is public.
      const int is_null =
          opened >= 0 && fstat(opened, &about) == 0 && S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3);
      if (opened >= 0 && !is_null) hole("%s opens for writing", path);
      if (opened >= 0) close(opened);
    }
    held("descriptors of %s", whose[w]);
  }
  static const char* const pipes[] = {"/.cloche/in", "/.cloche/out", "/.cloche/channel", "/run/cloche", "/dev/console"};
  for (size_t i = 0; i < sizeof pipes / sizeof *pipes; ++i)
    must_fail(pipes[i], open(pipes[i], O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  return done();
}
