// Uses: which volumes this server's sandboxes use. From any thread.
//
// The kernel has a lock of its own for each volume, which outlives this process with a sandbox; see volume/store.hpp.
// This table tells a volume that is in use from one whose last sandbox is just being removed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cloche/spec.hpp"
#include "core/result.hpp"

namespace cloche::volume {

struct VolumeId {
  std::string tenant;
  std::string name;

  auto operator<=>(const VolumeId&) const = default;
};

struct UseCount {
  std::uint32_t readers = 0;
  std::uint32_t writers = 0;  // at most one, but for what an earlier process left
};

class Uses;

// A use of a volume; ended by the destructor. Move-only.
class Use {
 public:
  Use() = default;
  Use(Use&& other) noexcept;
  Use& operator=(Use&& other) noexcept;
  ~Use() { end(); }

  void end();

 private:
  friend class Uses;
  Use(std::shared_ptr<Uses> uses, VolumeId id, Access access)
      : uses_(std::move(uses)), id_(std::move(id)), access_(access) {}

  std::shared_ptr<Uses> uses_;
  VolumeId id_;
  Access access_ = Access::read_only;
};

class Uses : public std::enable_shared_from_this<Uses> {
 public:
  // limit_reached if there is a writer, or if a writer is wanted and there is any user.
  Result<Use> begin(VolumeId id, Access access);
  // A use that an earlier process began, whatever else there is.
  Use adopt(VolumeId id, Access access);
  UseCount count(const VolumeId& id) const;

 private:
  friend class Use;
  void end(const VolumeId& id, Access access);

  mutable std::mutex mutex_;
  std::map<VolumeId, UseCount> counts_;
};

}  // namespace cloche::volume
