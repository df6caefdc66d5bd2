#include "volume/uses.hpp"

#include <utility>

namespace cloche::volume {

namespace {

std::uint32_t& place_of(UseCount& count, Access access) {
  return access == Access::read_write ? count.writers : count.readers;
}

}  // namespace

Use::Use(Use&& other) noexcept : uses_(std::move(other.uses_)), id_(std::move(other.id_)), access_(other.access_) {}

Use& Use::operator=(Use&& other) noexcept {
  if (this == &other) return *this;
  end();
  uses_ = std::move(other.uses_);
  id_ = std::move(other.id_);
  access_ = other.access_;
  return *this;
}

void Use::end() {
  if (const auto uses = std::exchange(uses_, nullptr)) uses->end(id_, access_);
}

Result<Use> Uses::begin(VolumeId id, Access access) {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(id);
  const UseCount now = found == counts_.end() ? UseCount{} : found->second;
  // Who uses it is not said: a volume that a profile mounts is used by several tenants.
  if (now.writers > 0) {
    return fail(ErrorCode::limit_reached,
                "volume '" + id.name + "' is in use for writing; wait until its session has ended");
  }
  if (access == Access::read_write && now.readers > 0) {
    return fail(ErrorCode::limit_reached, "volume '" + id.name + "' is in use; wait until its sessions have ended");
  }
  ++place_of(counts_[id], access);
  return Use(shared_from_this(), std::move(id), access);
}

Use Uses::adopt(VolumeId id, Access access) {
  const std::lock_guard lock(mutex_);
  ++place_of(counts_[id], access);
  return {shared_from_this(), std::move(id), access};
}

UseCount Uses::count(const VolumeId& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(id);
  return found == counts_.end() ? UseCount{} : found->second;
}

void Uses::end(const VolumeId& id, Access access) {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(id);
  if (found == counts_.end()) return;
  --place_of(found->second, access);
  if (found->second.readers == 0 && found->second.writers == 0) counts_.erase(found);
}

}  // namespace cloche::volume
