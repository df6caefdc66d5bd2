// Bytes: an amount of memory or of data, so that no number travels without its unit.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace cloche {

struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

constexpr Bytes kib(std::uint64_t n) { return {n << 10}; }
constexpr Bytes mib(std::uint64_t n) { return {n << 20}; }

// "512 MiB", "1.5 KiB", "17 B".
std::string to_string(Bytes bytes);

}  // namespace cloche
