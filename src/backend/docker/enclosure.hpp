// DockerEnclosure: the walls of one sandbox, made from a container.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "backend/docker/engine/attached_channel.hpp"
#include "backend/docker/engine/engine.hpp"
#include "backend/docker/reaper.hpp"
#include "sandbox/backend.hpp"

namespace cloche::docker {

// Ids of the sandboxes that this process makes or holds: what `recover` leaves alone.
using HeldIds = std::set<std::string>;

class HeldId {
 public:
  HeldId(std::shared_ptr<HeldIds> held, std::string id) : held_(std::move(held)), id_(std::move(id)) {
    held_->insert(id_);
  }
  HeldId(HeldId&&) = default;
  HeldId& operator=(HeldId&&) = delete;
  ~HeldId() {
    if (held_) held_->erase(id_);
  }

 private:
  std::shared_ptr<HeldIds> held_;
  std::string id_;
};

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
