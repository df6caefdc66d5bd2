// Glob patterns on any bytes: compiled without a crash, matched in bounded time, and for a pattern of one plain
// component with the same result as the simplest matcher that can be written.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "pattern/glob_pattern.hpp"

namespace {

using cloche::GlobPattern;
using cloche::Hidden;

// Only `*`, `?` and plain ASCII: one row of a table for each byte of the pattern.
bool simple_match(std::string_view pattern, std::string_view name) {
  std::vector<bool> row(name.size() + 1, false);
  row[0] = true;
  for (const char p : pattern) {
    std::vector<bool> next(name.size() + 1, false);
    if (p == '*') next[0] = row[0];
    for (std::size_t i = 1; i <= name.size(); ++i) {
      next[i] = p == '*' ? row[i] || next[i - 1] : row[i - 1] && (p == '?' || p == name[i - 1]);
    }
    row = next;
  }
  return row[name.size()];
}

bool is_simple(std::string_view pattern) {
  for (const char c : pattern) {
    if (static_cast<signed char>(c) <= 0 || std::string_view("[]{}\\/").find(c) != std::string_view::npos) return false;
  }
  return !pattern.empty() && pattern != "." && pattern != ".." && pattern != "**";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The pattern, a newline, a path.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto newline = bytes.find('\n');
  const auto pattern = bytes.substr(0, newline);
  const auto path = newline == std::string_view::npos ? std::string_view() : bytes.substr(newline + 1);
  const auto shy = GlobPattern::compile(pattern, Hidden::skip);
  const auto bold = GlobPattern::compile(pattern, Hidden::match);
  if (shy.has_value() != bold.has_value()) std::abort();
  if (!shy) return 0;
  // What matches without the hidden names matches with them.
  const bool matches = bold->matches(path);
  if (shy->matches(path) && !matches) std::abort();
  if (is_simple(pattern) && is_simple(path) && matches != simple_match(pattern, path)) std::abort();
  return 0;
}
