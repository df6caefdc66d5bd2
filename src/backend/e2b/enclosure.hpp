// RemoteEnclosure: the isolation of one sandbox, which is a service's.
#pragma once

#include <memory>

#include "backend/e2b/reaper.hpp"
#include "backend/e2b/remote.hpp"
#include "sandbox/backend.hpp"

namespace cloche::e2b {

struct RemoteParts {
  Remote remote;
  SandboxSpec spec;  // with the limits of the template
};

// The reaper continues a failed removal after the enclosure is gone.
std::unique_ptr<Enclosure> create_enclosure(std::shared_ptr<Reaper> reaper, RemoteParts parts, HeldId held);

// The spec's limits with what the template has: its memory, cpus and disk.
Limits with_template(Limits limits, const RemoteSandbox& sandbox);

}  // namespace cloche::e2b
