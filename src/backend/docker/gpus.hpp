// The GPUs of sandboxes on an engine. The engine passes them into a container; which of them, Cloche chooses, because
// an engine gives the same ones to every container that asks.
//
// Only for an engine on this host: its GPUs are found here, and are lent together with those of other servers and of
// the oci backend.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/docker/engine/engine.hpp"
#include "backend/docker/engine/engine_facts.hpp"
#include "backend/docker/engine/options.hpp"
#include "backend/docker/hardening.hpp"
#include "gpu/lending.hpp"

namespace cloche::docker {

// From GPUs to what an engine is asked for: by CDI if it reads specifications and each GPU is in one, else by NVIDIA's
// driver of the engine. unsupported if it has neither for one of them.
Result<std::vector<DeviceRequest>> device_requests(const gpu::Inventory& inventory, const std::vector<gpu::Gpu>& gpus,
                                                   const EngineFacts& facts);

class EngineGpus {
 public:
  // `pool` does what blocks, and outlives it.
  EngineGpus(std::shared_ptr<Engine> engine, asio::thread_pool& pool, const DockerOptions& options);

  // unsupported for a remote engine, and for gVisor without nvproxy.
  Status check(const EngineFacts& facts, const std::string& runtime) const;
  // Lends the GPUs to a sandbox that is about to be made. Loans of sandboxes that are no more end first.
  Task<Result<std::vector<DeviceRequest>>> lend(GpuRequest request, std::string sandbox, EngineFacts facts,
                                                Deadline deadline);
  // The making is over, whatever came of it; swept.
  Task<Status> settle(std::string sandbox, Deadline deadline);
  // Ends the loans of sandboxes of this instance that have no container and are not being made.
  Task<Status> sweep(Deadline deadline);
  // The container is gone.
  Status take_back(const std::string& sandbox) const { return lending_.take_back(sandbox); }

 private:
  std::shared_ptr<Engine> engine_;
  asio::thread_pool& pool_;
  gpu::Places places_;
  InstanceId instance_;
  gpu::Lending lending_;
  std::set<std::string> making_;
};

}  // namespace cloche::docker
