// DockerEnclosure: the walls of one sandbox, made from a container.
#pragma once

#include <memory>
#include <string>

#include "backend/docker/engine/attached_channel.hpp"
#include "backend/docker/engine/engine.hpp"
#include "backend/docker/reaper.hpp"
#include "sandbox/backend.hpp"
#include "sandbox/held_ids.hpp"

namespace cloche::docker {

class EngineGpus;

struct ContainerParts {
  SandboxId id;
  SandboxSpec spec;
  std::string runtime;
  Kernel kernel = Kernel::shared;  // of that runtime
  std::string container;           // the engine's id of it
  std::shared_ptr<EngineGpus> gpus;
};

// The reaper continues a failed removal after the enclosure is gone.
std::unique_ptr<Enclosure> create_enclosure(std::shared_ptr<Reaper> reaper, ContainerParts parts,
                                            http::Upgrade attached, HeldId held);

}  // namespace cloche::docker
