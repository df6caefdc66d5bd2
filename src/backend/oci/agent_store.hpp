// AgentStore: a private copy of the agent, named by its content. Sandboxes run the copy, so that a new build can be put
// in the agent's place at any time.
#pragma once

#include <mutex>
#include <string>

#include "core/result.hpp"

namespace cloche::oci {

class AgentStore {
 public:
  AgentStore(std::string directory, std::string agent);

  struct Copy {
    std::string path;
    std::string digest;
  };
  // The copy of the current agent; created if it does not exist. not_found names what is missing.
  Result<Copy> ensure();

 private:
  std::string directory_;
  std::string agent_;
  std::mutex mutex_;
  std::string identity_;  // of the file that copy_ was made from
  Copy copy_;
};

}  // namespace cloche::oci
