// Replaces agent/sealed_file.cpp in an agent that is weak on purpose: its in-memory files are open to all. With it, the
// attacks on them succeed, and the proof of a reset detects it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/sealed_file.hpp"

namespace cloche::agent {

Result<UniqueFd> sealed_file(const char* name, std::string_view bytes, SealedUse use) {
  UniqueFd fd(::memfd_create(name, use == SealedUse::data ? MFD_CLOEXEC : 0));
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::lseek(fd.get(), 0, SEEK_SET) != 0)
    return fail_errno("make a file in memory");
  return fd;
}

bool is_sealed(int) { return false; }

}  // namespace cloche::agent
