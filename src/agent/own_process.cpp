#include "agent/own_process.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace cloche::agent {

std::string own_path() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string("/.cloche/agent");
}

void forget_environment() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    std::memset(*entry, 0, std::strlen(*entry));
  ::clearenv();
}

bool become_reaper() { return ::getpid() == 1 || ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

}  // namespace cloche::agent
