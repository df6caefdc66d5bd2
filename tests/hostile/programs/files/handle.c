// tries: to open the host's canary by its file handle, which no path and no mount namespace guards
// must: be refused, whichever mount the handle is tried at
#include "../attack.h"

#include <dirent.h>

int main(void) {
  struct {
    struct file_handle head;
    unsigned char bytes[128];
  } handle = {0};
  const char* text = told("CANARY_HANDLE");  // type:hexadecimal bytes
  handle.head.handle_type = atoi(text);
  const char* digits = strchr(text, ':');
  for (digits = digits != NULL ? digits + 1 : ""; digits[0] != '\0' && digits[1] != '\0'; digits += 2) {
    unsigned byte = 0;
    sscanf(digits, "%2x", &byte);
    handle.head.f_handle[handle.head.handle_bytes++] = (unsigned char)byte;
  }
  static const char* const mounts[] = {"/attack",          "/",    "/workspace",       "/tmp", "/etc", "/etc/hostname",
                                       "/etc/resolv.conf", "/usr", "/proc/self/ns/mnt"};
  for (size_t i = 0; i < sizeof mounts / sizeof *mounts; ++i) {
    const int at = open(mounts[i], O_RDONLY | O_CLOEXEC);
    if (at < 0) continue;
    char what[100];
    snprintf(what, sizeof what, "open by handle at %s", mounts[i]);
    const int fd = open_by_handle_at(at, &handle.head, O_RDONLY);
    // A stale handle means that the kernel looked.
    if (fd < 0 && errno != EPERM && errno != ENOSYS) {
      hole("%s: the kernel looked (%s)", what, strerror(errno));
    } else if (must_fail(what, fd)) {
      char bytes[16] = "";
      if (read(fd, bytes, 13) == 13 && strcmp(bytes, "cloche canary") == 0) hole("the canary was read");
    }
    close(at);
  }
  return done();
}
