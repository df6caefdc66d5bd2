#include "agent/exec/oom_counter.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

std::optional<std::uint64_t> value_in(const char* path) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  char text[1024];
  const ssize_t n = ::read(fd.get(), text, sizeof text - 1);
  if (n <= 0) return std::nullopt;
  text[n] = '\0';
  const char* found = std::strstr(text, "oom_kill ");
  if (found == nullptr) return std::nullopt;
  return std::strtoull(found + std::strlen("oom_kill "), nullptr, 10);
}

}  // namespace

std::optional<std::uint64_t> read_oom_kills() {
  if (const auto v2 = value_in("/sys/fs/cgroup/memory.events")) return v2;
  return value_in("/sys/fs/cgroup/memory/memory.oom_control");
}

}  // namespace cloche::agent
