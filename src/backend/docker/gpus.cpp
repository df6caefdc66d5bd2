#include "backend/docker/gpus.hpp"

#include <algorithm>
#include <variant>

#include "backend/docker/engine/container_calls.hpp"
#include "backend/docker/labels.hpp"
#include "core/async/blocking.hpp"
#include "gpu/inventory.hpp"
#include "gpu/nvidia.hpp"

namespace cloche::docker {

namespace {

struct Lent {
  gpu::Inventory inventory;
  std::vector<gpu::Gpu> gpus;
};

// The first is a path of a file if the GPU comes from a specification.
bool is_specified(const gpu::Inventory& inventory, const gpu::Gpu& gpu) {
  const gpu::Driver* driver = inventory.driver_of(gpu);
  return driver != nullptr && driver->found_in.starts_with('/');
}

}  // namespace

Result<std::vector<DeviceRequest>> device_requests(const gpu::Inventory& inventory, const std::vector<gpu::Gpu>& gpus,
                                                   const EngineFacts& facts) {
  DeviceRequest by_name{"cdi", {}}, by_driver{"nvidia", {}};
  for (const gpu::Gpu& gpu : gpus) {
    if (facts.reads_cdi && is_specified(inventory, gpu)) {
      by_name.ids.push_back(gpu.kind + "=" + gpu.name);
    } else if (gpu.kind == gpu::nvidia_kind) {
      by_driver.ids.push_back(gpu.name);
    } else {
      return fail(ErrorCode::unsupported, "the engine does not read CDI specifications, and GPU " + gpu.kind + "=" +
                                              gpu.name + " is in one; enable the engine's feature `cdi`");
    }
  }
  std::vector<DeviceRequest> requests;
  for (DeviceRequest& each : std::vector{by_name, by_driver}) {
    if (!each.ids.empty()) requests.push_back(std::move(each));
  }
  return requests;
}

EngineGpus::EngineGpus(std::shared_ptr<Engine> engine, asio::thread_pool& pool, const DockerOptions& options)
    : engine_(std::move(engine)),
      pool_(pool),
      places_(options.gpu_places),
      instance_(options.instance),
      lending_(options.gpu_dir, options.instance.value) {}

Status EngineGpus::check(const EngineFacts& facts, const std::string& runtime) const {
  if (!std::holds_alternative<http::UnixEndpoint>(engine_->endpoint())) {
    return fail(ErrorCode::unsupported,
                "GPUs of a remote engine cannot be lent; run Cloche on the engine's host and use its socket");
  }
  const EngineRuntime* found = facts.find_runtime(runtime);
  if (found != nullptr && found->kernel() == Kernel::own && !found->has_nvproxy) {
    return fail(
        ErrorCode::unsupported,
        "the engine's runtime " + runtime +
            " cannot make sandboxes with GPUs: add --nvproxy and --nvproxy-docker to its runtimeArgs in the "
            "engine's configuration, or set `runtime: runc` in the profile, which then shares the host's kernel");
  }
  return {};
}

Task<Result<std::vector<DeviceRequest>>> EngineGpus::lend(GpuRequest request, std::string sandbox, EngineFacts facts,
                                                          Deadline deadline) {
  CLOCHE_CO_CHECK(co_await sweep(deadline));
  making_.insert(sandbox);
  auto work = [lending = lending_, places = places_, request = std::move(request), sandbox]() -> Result<Lent> {
    Lent lent;
    lent.inventory = gpu::find_gpus(places);
    CLOCHE_TRY(lent.gpus, lending.lend(lent.inventory, request, sandbox));
    return lent;
  };
  auto lent = co_await run_blocking(pool_, std::move(work));
  if (!lent) {
    making_.erase(sandbox);
    co_return fail(std::move(lent).error());
  }
  co_return device_requests(lent->inventory, lent->gpus, facts);
}

Task<Status> EngineGpus::settle(std::string sandbox, Deadline deadline) {
  making_.erase(sandbox);
  auto swept = co_await sweep(deadline);
  co_return swept;
}

Task<Status> EngineGpus::sweep(Deadline deadline) {
  CLOCHE_CO_TRY(auto borrowers, lending_.borrowers());
  std::erase_if(borrowers, [this](const std::string& id) { return making_.contains(id); });
  if (borrowers.empty()) co_return Status{};
  LabelMap ours = labels::of_owner(instance_);
  CLOCHE_CO_TRY(const auto containers, co_await list_containers(*engine_, std::move(ours), deadline));
  for (const std::string& borrower : borrowers) {
    const bool is_there = std::ranges::any_of(containers, [&](const ContainerSummary& container) {
      const auto label = container.labels.find(labels::sandbox);
      return label != container.labels.end() && label->second == borrower;
    });
    if (!is_there) CLOCHE_CO_CHECK(lending_.take_back(borrower));
  }
  co_return Status{};
}

}  // namespace cloche::docker
