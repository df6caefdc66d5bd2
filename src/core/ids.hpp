// Names and random ids.
#pragma once

#include <compare>
#include <cstddef>
#include <string>

namespace cloche {

// The id of one sandbox: lower-case letters, digits and '-', safe in paths, labels and host names.
struct SandboxId {
  std::string value;
  auto operator<=>(const SandboxId&) const = default;
};

// So many random bytes from the kernel, and the same as lower-case hexadecimal digits.
std::string random_bytes(std::size_t count);
std::string random_hex(std::size_t bytes);

}  // namespace cloche
