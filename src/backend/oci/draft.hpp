// Draft: a directory that is being filled and gets its real name when it is complete.
//
// It is locked while its creator is alive. A draft that another process can lock was left by a crash, and the creator
// of the next draft in the same directory removes it: servers that share a store clean up for each other, and never
// while the other one is using it.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::oci {

class Draft {
 public:
  // Makes one in the directory, which must be there.
  static Result<Draft> make(const std::string& directory, mode_t mode);
  Draft(Draft&&) = default;
  Draft& operator=(Draft&&) = delete;
  // Removes what has not been renamed.
  ~Draft();

  const std::string& path() const { return path_; }

 private:
  Draft(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

}  // namespace cloche::oci
