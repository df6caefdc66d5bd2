// ClaimFiles: names that all processes of a host share, each with at most one holder.
//
// A claim is a file with the name, in one directory for the whole host. It appears with its content, or not at all, and
// stays until it is released: a process that dies releases nothing, and the next one with its owner id finds the claim.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace cloche {

class ClaimFiles {
 public:
  // `owner`: in every claim that is made here; without spaces.
  ClaimFiles(std::string directory, std::string owner);

  const std::string& directory() const { return directory_; }

  // Claims the first of these names that is free, in this order; nullopt if none is. Creates the directory.
  Result<std::optional<std::size_t>> claim_first(std::size_t count, const std::function<std::string(std::size_t)>& name,
                                                 const std::string& holder) const;
  // Releases the name, if this holder of this owner has it.
  Status release(const std::string& name, const std::string& holder) const;

  struct Claim {
    std::string owner;
    std::string name;
    std::string holder;
  };
  // Of all owners. Drafts of this owner that a crash left behind are removed.
  Result<std::vector<Claim>> all() const;

 private:
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
  std::string owner_;
};

}  // namespace cloche
