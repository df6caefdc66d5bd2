// tries: extended attributes that mean power: file capabilities, trusted ones, labels, overlay's marks
// must: be refused each one, on files of its own
#include "../attack.h"

#include <sys/xattr.h>

int main(void) {
  const char* path = "/tmp/file";
  close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
  // Version 2, effective: all capabilities.
  static const unsigned char all[20] = {1, 0, 0, 2, 255, 255, 255, 255, 0, 0, 0, 0, 255, 1, 0, 0, 0, 0, 0, 0};
  must_fail("security.capability", setxattr(path, "security.capability", all, sizeof all, 0));
  must_fail("trusted.overlay.opaque", setxattr(path, "trusted.overlay.opaque", "y", 1, 0));
  must_fail("trusted.planted", setxattr(path, "trusted.planted", "y", 1, 0));
  must_fail("security.ima", setxattr(path, "security.ima", "x", 1, 0));
  must_fail("user attribute of a file of others", setxattr("/usr/bin/env", "user.planted", "x", 1, 0));
  must_fail("capability of a file of others", setxattr("/usr/bin/env", "security.capability", all, sizeof all, 0));
  unlink(path);
  return done();
}
