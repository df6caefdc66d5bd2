// OwnUids: on an engine's host the kernel counts some resources for each uid, whatever container its processes are in.
// So each sandbox gets a uid that no other has.
//
// The label of a container is the claim on its uid: it lasts as long as the container, and all servers of the engine
// see it. Of two servers that claim the same uid at once, at least one sees the other when it looks after its claim.
#pragma once

#include <memory>

#include "backend/docker/engine/engine.hpp"
#include "backend/docker/engine/options.hpp"
#include "sandbox/kernel.hpp"
#include "sandbox/spec.hpp"

namespace cloche::docker {

class OwnUids {
 public:
  OwnUids(std::shared_ptr<Engine> engine, HostUids range) : engine_(std::move(engine)), range_(range) {}

  // The uids that a sandbox may get; none if it has the one of its spec or the usual one. gVisor counts for each
  // sandbox by itself. Files of the host have owners, so a sandbox with mounts keeps the uid that they were prepared
  // for.
  HostUids range_for(const SandboxSpec& spec, Kernel kernel) const;

  // One that no container of any server has. `limit_reached` if none is found.
  Task<Result<std::uint32_t>> pick(Deadline deadline);
  // Whether the container that was created with it is the only one.
  Task<Result<bool>> is_alone(std::uint32_t uid, Deadline deadline);

 private:
  Task<Result<std::size_t>> count(std::uint32_t uid, Deadline deadline);

  std::shared_ptr<Engine> engine_;
  HostUids range_;
};

}  // namespace cloche::docker
