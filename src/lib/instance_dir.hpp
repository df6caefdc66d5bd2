// The place of one instance in the state directory: its journal, and a lock that lets one process at a time manage it.
#pragma once

#include <memory>
#include <string>

#include "cloche/engine_options.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche {

class InstanceDir {
 public:
  // already_exists when another process has it.
  static Result<std::unique_ptr<InstanceDir>> claim(const EngineOptions& options);

  std::string journal() const { return path_ + "/journal.db"; }
  std::string sessions() const { return path_ + "/sessions.db"; }

 private:
  InstanceDir(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

}  // namespace cloche
