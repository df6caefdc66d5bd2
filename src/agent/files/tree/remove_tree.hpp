// Removes a tree however deep, wide or forbidding it is.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"

namespace cloche::agent {

struct Removal {
  std::uint64_t removed = 0;
  std::uint64_t failed = 0;  // names that could not be removed, not counting the directories above them
  Error first_failure;
};

enum class WhenCancelled { stop, go_on };

// Removes what has this name. Symbolic links are removed, not followed. Directories that lack rights for their owner
// are given them first. Another mount below is left as it is, and counts as a failure. Goes on after a failure.
Removal remove_tree(int parent, const std::string& name, WhenCancelled when_cancelled);

}  // namespace cloche::agent
