// Makes the directories above a file, and unmakes them when what they were made for fails.
#pragma once

#include <string>
#include <vector>

#include "agent/files/tree/paths.hpp"
#include "core/result.hpp"

namespace cloche::agent {

// Directories made in a row, one in the other. Removed again, as far as empty, unless kept.
class MadeDirectories {
 public:
  MadeDirectories() = default;
  MadeDirectories(MadeDirectories&&) = default;
  MadeDirectories& operator=(MadeDirectories&&) = default;
  ~MadeDirectories();

  void keep() { names_.clear(); }
  bool none() const { return names_.empty(); }
  std::size_t count() const { return names_.size(); }

 private:
  friend Result<MadeDirectories> make_directories(const Base& base, const std::vector<std::string>& path,
                                                  mode_t last_mode);
  UniqueFd above_;
  std::vector<std::string> names_;
};

// Makes what is missing of the directory at `path`; the last one gets `last_mode`, those above it 0755. Existing ones
// stay as they are.
Result<MadeDirectories> make_directories(const Base& base, const std::vector<std::string>& path,
                                         mode_t last_mode = 0755);

}  // namespace cloche::agent
