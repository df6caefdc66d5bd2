// Private directories of runs in /tmp: a run's source and what is compiled from it, so that the workspace holds only
// what is the caller's.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/ids.hpp"

namespace cloche::session {

inline constexpr std::string_view run_directories_parent = "/tmp";
inline constexpr std::string_view run_directory_prefix = ".run-";
inline constexpr std::size_t run_directory_random = 8;  // bytes, written as twice as many digits

// An absolute path that is not in use.
inline std::string new_run_directory() {
  std::string path(run_directories_parent);
  path.append("/").append(run_directory_prefix).append(random_hex(run_directory_random));
  return path;
}

// Whether a directory of this name can be a run's.
inline bool is_run_directory(std::string_view name) {
  if (!name.starts_with(run_directory_prefix)) return false;
  name.remove_prefix(run_directory_prefix.size());
  return name.size() == 2 * run_directory_random &&
         std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace cloche::session
