// A file in memory that cannot be changed once it is made, by its maker or by anyone else.
//
// Some kernels (gVisor) let any process open a descriptor of another through /proc when the mode of the file allows it.
// So a file that is executed or believed by a process of the agent's uid belongs to that uid alone, and is sealed.
#pragma once

#include <string_view>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

enum class SealedUse {
  data,     // mode 0400, closed at exec
  program,  // mode 0500, inherited by an executed program
};

// Fails if the kernel forbids it, or if another process wrote to the file before it was sealed. The descriptor is at
// the start of the file.
Result<UniqueFd> sealed_file(const char* name, std::string_view bytes, SealedUse use);

// Whether neither the content nor the seals of this file can change.
bool is_sealed(int fd);

}  // namespace cloche::agent
