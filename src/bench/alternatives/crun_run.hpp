// `crun run`: a new container for one program, with the same namespaces and the same /usr as a sandbox of the embedded
// backend, but with no limits, no seccomp and no agent.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/oci/runtime/command.hpp"
#include "bench/surroundings.hpp"

namespace cloche::bench {

class CrunRun {
 public:
  // `not_found` where crun is not installed.
  static Result<std::unique_ptr<CrunRun>> prepare(Surroundings& surroundings, const std::vector<std::string>& argv,
                                                  std::string output);
  // Runs it to its end; the container is gone afterwards.
  Status run();

 private:
  CrunRun(oci::Command command, std::string output) : command_(std::move(command)), output_(std::move(output)) {}

  oci::Command command_;
  std::string output_;
};

}  // namespace cloche::bench
