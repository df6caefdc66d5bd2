#include "process/descriptors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cloche::process {

namespace {

constexpr Bytes most_read = kib(64);

}  // namespace

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("create a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<UniqueFd> make_input(std::string_view content) {
  UniqueFd fd(::memfd_create("cloche-input", MFD_CLOEXEC));
  if (!fd) return fail_errno("create a file in memory");
  for (std::size_t at = 0; at < content.size();) {
    const ssize_t n = ::pwrite(fd.get(), content.data() + at, content.size() - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write a file in memory");
    at += static_cast<std::size_t>(n);
  }
  return fd;
}

Result<UniqueFd> make_bounded_memory(Bytes most) {
  UniqueFd fd(::memfd_create("cloche-output", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Not accessible to others: gVisor lets a program open what the agent has open through /proc if the file's mode
  // allows it.
  if (!fd || ::fchmod(fd.get(), 0600) != 0 || ::ftruncate(fd.get(), static_cast<off_t>(most.count)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    return fail_errno("create a file in memory");
  }
  return fd;
}

std::string read_bounded_memory(int fd) {
  std::string content(most_read.count, '\0');
  const ssize_t n = ::pread(fd, content.data(), content.size(), 0);
  content.resize(n > 0 ? ::strnlen(content.data(), static_cast<std::size_t>(n)) : 0);
  return content;
}

}  // namespace cloche::process
