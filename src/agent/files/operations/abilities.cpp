#include "agent/files/operations/abilities.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

// Whatever the reason it fails (no such call, or a seccomp filter that does not know it), it is of no use then.
bool probe_openat2() {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how))).get() >= 0;
}

}  // namespace

Abilities& abilities() {
  static Abilities found{.openat2 = probe_openat2()};
  return found;
}

}  // namespace cloche::agent
