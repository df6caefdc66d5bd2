// An instance that lives as long as its process: for one-shot commands and programs that name none.
//
// It holds a lock on a file for as long as it lives. A lock that nobody holds names an instance whose process was
// killed; whoever comes next removes what it left.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cloche/engine_options.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

class PassingInstance {
 public:
  static Result<std::unique_ptr<PassingInstance>> claim(const EngineOptions& options);
  ~PassingInstance();

  const InstanceId& id() const { return id_; }

 private:
  PassingInstance(InstanceId id, std::string path, UniqueFd lock);
  InstanceId id_;
  std::string path_;
  UniqueFd lock_;
};

// Instances of this backend and engine whose process is gone, each locked by us until the object goes; then it is
// forgotten.
class AbandonedInstance {
 public:
  static std::vector<AbandonedInstance> find(const EngineOptions& options);
  const InstanceId& id() const { return id_; }
  // All that it left is removed.
  void forget();

 private:
  InstanceId id_;
  std::string path_;
  UniqueFd lock_;
};

}  // namespace cloche
