// Visits a tree from the top down, names in order, deep and wide ones alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

// A name in the tree. Valid during the visit.
struct Found {
  int parent;  // the directory that holds it
  const char* name;
  const std::string& path;  // below the top
  unsigned char type;       // DT_REG and its like, never DT_UNKNOWN
  std::size_t depth;        // directories between the top and this name
};

enum class WalkStep {
  descend,  // into it, if it is a directory
  pass,     // continue with the next entry
  stop,     // end the walk
};

struct WalkOptions {
  enum class Unreadable { skip, fail } unreadable = Unreadable::skip;  // directories below the top
  std::size_t names_a_directory = 0;                                   // only the first so many; 0: all
  enum class Order { by_name, files_first } order = Order::by_name;    // in each directory
  // Directories below the top that lie on another mount; those of the kernel's own file systems may be left aside.
  enum class Mounts { enter, skip_kernel, fail } mounts = Mounts::enter;
};

struct Walked {
  std::uint64_t skipped = 0;  // directories that could not be read
  bool cut = false;           // something was left out for a cap
};

// Longest path below the top that is followed.
constexpr std::size_t longest_path = std::size_t{64} * 1024;

// Each directory's names come sorted by their bytes, or directories after all others, a directory before what is in it.
// Symbolic links are not followed. What vanishes meanwhile is passed over. limit_reached when the names on the way are
// more than memory allows; with Unreadable::fail also for a path longer than longest_path.
Result<Walked> walk_tree(UniqueFd top, const WalkOptions& options,
                         const std::function<Result<WalkStep>(const Found&)>& visit);

}  // namespace cloche::agent
