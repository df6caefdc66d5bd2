/// @file
/// Bytes: an amount of memory or data, so that no number is passed without its unit.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "cloche/visibility.hpp"

namespace cloche {

/// A number of bytes.
struct Bytes {
  std::uint64_t count = 0;  ///< The number.
  auto operator<=>(const Bytes&) const = default;
};

/// Returns n times 1024 bytes.
constexpr Bytes kib(std::uint64_t n) { return {n << 10}; }
/// Returns n times 1024 times 1024 bytes.
constexpr Bytes mib(std::uint64_t n) { return {n << 20}; }

/// Formats a size: "512 MiB", "1.5 KiB", "17 B".
CLOCHE_API std::string to_string(Bytes bytes);

}  // namespace cloche
