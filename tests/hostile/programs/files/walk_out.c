// tries: to walk out: `..` from its cwd and from every descriptor, chroot and back, a cwd above the root, pivot_root
// must: always end at its own root; the host's canary is not found by any way
#include "../attack.h"

#include <dirent.h>

static void look(int at, const char* how) {
  // From wherever this is, up and up, then down the path that the canary has on the host.
  char path[600] = "";
  for (int i = 0; i < 40; ++i) strcat(path, "../");
  strncat(path, told("CANARY_PATH") + 1, sizeof path - strlen(path) - 1);
  const int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
  char bytes[16] = "";
  if (fd >= 0 && read(fd, bytes, sizeof bytes - 1) > 0 && strncmp(bytes, "cloche canary", 13) == 0) {
    hole("the canary was read %s", how);
  } else {
    held("no canary %s", how);
  }
  if (fd >= 0) close(fd);
}

int main(void) {
  look(AT_FDCWD, "from the work directory");
  for (int fd = 0; fd < 256; ++fd) {
    struct stat about;
    if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) look(fd, "from a descriptor left open");
  }
  static const char* const links[] = {"/proc/1/root", "/proc/1/cwd", "/proc/self/root", "/proc/self/cwd",
                                      "/proc/thread-self/root"};
  for (size_t i = 0; i < sizeof links / sizeof *links; ++i) {
    const int fd = open(links[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) look(fd, links[i]);
    if (fd >= 0) close(fd);
  }
  // The classic: a descriptor from before, a chroot below it, and up from there.
  const int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  mkdir("/tmp/below", 0700);
  if (must_fail("chroot", chroot("/tmp/below"))) {
    if (fchdir(root) == 0) look(AT_FDCWD, "after chroot and fchdir");
  }
  must_fail("pivot_root", syscall(SYS_pivot_root, ".", "."));
  rmdir("/tmp/below");
  return done();
}
