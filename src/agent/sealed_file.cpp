#include "agent/sealed_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // newer than the C library; where it is not known, every such file can be executed
#endif

namespace cloche::agent {

namespace {

constexpr int all_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

UniqueFd memory_file(const char* name, SealedUse use) {
  if (use == SealedUse::data) return UniqueFd(::memfd_create(name, MFD_ALLOW_SEALING | MFD_CLOEXEC));
  UniqueFd fd(::memfd_create(name, MFD_ALLOW_SEALING | MFD_EXEC));
  if (!fd) fd.reset(::memfd_create(name, MFD_ALLOW_SEALING));
  return fd;
}

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write a file in memory");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

bool holds_exactly(int fd, std::string_view bytes) {
  struct stat about{};
  if (::fstat(fd, &about) != 0 || static_cast<std::size_t>(about.st_size) != bytes.size()) return false;
  char buffer[64 * 1024];
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t wanted = std::min(sizeof buffer, bytes.size() - at);
    const ssize_t n = ::pread(fd, buffer, wanted, static_cast<off_t>(at));
    if (n <= 0 ||
        std::string_view(buffer, static_cast<std::size_t>(n)) != bytes.substr(at, static_cast<std::size_t>(n)))
      return false;
    at += static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

Result<UniqueFd> sealed_file(const char* name, std::string_view bytes, SealedUse use) {
  UniqueFd fd = memory_file(name, use);
  if (!fd) return fail_errno("create a file in memory");
  // A new file of this kind has mode 0777.
  if (::fchmod(fd.get(), use == SealedUse::program ? 0500 : 0400) != 0) return fail_errno("close a file in memory");
  CLOCHE_CHECK(write_all(fd.get(), bytes));
  if (::fcntl(fd.get(), F_ADD_SEALS, all_seals) != 0) return fail_errno("seal a file in memory");
  // It was open to others for a moment before its mode was set.
  if (!is_sealed(fd.get()) || !holds_exactly(fd.get(), bytes))
    return fail(ErrorCode::internal, "a file in memory was changed before it was sealed");
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return fail_errno("rewind a file in memory");
  return fd;
}

bool is_sealed(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & all_seals) == all_seals;
}

}  // namespace cloche::agent
