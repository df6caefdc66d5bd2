// Volumes: a VolumeStore for coroutines. On the thread that owns all state.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/async/task.hpp"
#include "core/deadline.hpp"
#include "volume/store.hpp"

namespace cloche::volume {

// For a sandbox: what it uses, as long as it has the volumes, and their mounts.
struct Prepared {
  std::vector<Use> uses;
  std::vector<MountedVolume> mounted;
};

class Volumes {
 public:
  // Whether sandboxes of this server can have volumes at all.
  enum class Support { available, unavailable };

  Volumes(std::unique_ptr<VolumeStore> store, Support support);

  // As those of VolumeStore. unsupported where no sandbox could use it.
  Task<Result<VolumeInfo>> create(VolumeId id, Bytes size, Allowance allowance, Deadline deadline);
  Task<Result<std::vector<VolumeInfo>>> list(std::optional<std::string> tenant);
  Task<Result<VolumeInfo>> find(VolumeId id);
  Task<Status> remove(VolumeId id, Deadline deadline);

  // All or none. limit_reached if one is in use; waits for sandboxes that are being removed.
  Task<Result<Prepared>> prepare(std::vector<VolumeMount> volumes, Deadline deadline);
  // Those of a sandbox that an earlier process made.
  std::vector<Use> adopt(const std::vector<VolumeMount>& volumes);

 private:
  Task<Result<UniqueFd>> mount(VolumeId id, Access access, Deadline deadline);

  std::shared_ptr<VolumeStore> store_;  // shared with work that may end after this object
  Support support_;
  // Its own: what waits here must not keep sandboxes from being removed.
  asio::thread_pool threads_{2};
};

}  // namespace cloche::volume
