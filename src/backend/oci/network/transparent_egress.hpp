// TransparentEgress: rules in a sandbox's own network by which connections of programs to any address arrive at the
// agent, and questions for names at its name server. See wire/egress_messages.hpp for the ports.
//
// The rules are set from outside, before the first program. Neither programs nor the agent may change them. They are
// gone with the sandbox's network; the host's own network has none of them.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <optional>

#include "core/deadline.hpp"
#include "core/result.hpp"

namespace cloche::oci {

// From any thread.
class TransparentEgress {
 public:
  // Whether this host can do it: tried once, in a network of its own.
  Status probe();

  // For the network of this process, the first of a sandbox.
  Status prepare(pid_t first, Deadline deadline) const;

 private:
  std::mutex mutex_;
  std::optional<Status> probed_;
};

}  // namespace cloche::oci
