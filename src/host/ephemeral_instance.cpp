#include "host/ephemeral_instance.hpp"

#include "host/identity_file.hpp"
#include "host/instance_dir.hpp"

namespace cloche {

Result<std::unique_ptr<EphemeralInstance>> EphemeralInstance::claim(const EngineOptions& options) {
  InstanceId id;
  id.value = new_owner_id();
  OwnerEntry entry{id.value, {}, backend_of(options), engine_of(options), {}, options.run_dir};
  CLOCHE_TRY(OwnerLock owner, OwnerRegistry::of_host(options).hold(std::move(entry)));
  return std::unique_ptr<EphemeralInstance>(new EphemeralInstance(std::move(id), std::move(owner)));
}

EphemeralInstance::~EphemeralInstance() {
  if (!leaves_something_) owner_.release();
}

std::vector<OwnerLock> find_abandoned_ephemeral(const EngineOptions& options) {
  std::vector<OwnerLock> found;
  const OwnerRegistry registry = OwnerRegistry::of_host(options);
  const auto entries = registry.entries();
  if (!entries) return found;
  for (const OwnerEntry& entry : *entries) {
    const bool concerns_us =
        entry.backend == backend_of(options) && entry.engine == engine_of(options) && entry.run_dir == options.run_dir;
    if (!concerns_us || !entry.ends_with_its_process()) continue;
    if (auto lock = registry.take_over(entry.id)) found.push_back(std::move(*lock));
  }
  return found;
}

}  // namespace cloche
