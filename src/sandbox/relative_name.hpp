// Names that an agent sends: nothing in them leads elsewhere.
#pragma once

#include <algorithm>
#include <string_view>

namespace cloche {

// A path below a directory, which callers may join with a path of their own.
inline bool stays_below(std::string_view path) {
  if (path.starts_with('/') || path.find('\0') != path.npos) return false;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    if (path.substr(0, slash) == "..") return false;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return true;
}

}  // namespace cloche
