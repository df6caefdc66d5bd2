// VolumeStore: the volumes of one server: file systems with names, which outlive the sandboxes that use them. From any
// thread; blocking.
//
// A volume is an image of a fixed size, DIRECTORY/TENANT/NAME.img, with a journaling file system. It gets its name when
// it is complete, so nothing half-made is ever left. A sandbox that uses it holds a lock of the file: an exclusive one
// to write, a shared one to read. The kernel keeps the lock as long as the file system is mounted, whatever happens to
// Cloche, and releases it when all data are on the disk.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cloche/engine_options.hpp"
#include "core/bytes.hpp"
#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "disk/ledger.hpp"
#include "sandbox/volume_mount.hpp"
#include "volume/uses.hpp"

namespace cloche::volume {

// The smallest volume.
inline constexpr Bytes least_size = mib(16);

// The user on the volume itself that its files belong to, and the group. A sandbox sees its own user.
inline constexpr unsigned owner = 1000;

struct VolumeInfo {
  VolumeId id;
  Bytes size;       // fixed
  Bytes allocated;  // on the host's disk
  std::chrono::system_clock::time_point created;
  UseCount uses;
};

// What a tenant may have.
struct Allowance {
  std::optional<std::uint32_t> volumes;
  std::optional<Bytes> bytes;  // of all its volumes together, by their sizes
};

class VolumeStore {
 public:
  VolumeStore(std::string directory, DiskOptions options, std::shared_ptr<disk::Ledger> ledger);

  // Counts the volumes that exist. To be called once, before the other functions.
  Status open();

  // invalid_argument for the name or the size, already_exists, limit_reached over the allowance or if there is no room.
  Result<VolumeInfo> create(const VolumeId& id, Bytes size, const Allowance& allowance, const CancelToken& token);
  // Of one tenant, or of all; in the order of their names.
  Result<std::vector<VolumeInfo>> list(const std::optional<std::string>& tenant) const;
  // not_found if there is none.
  Result<VolumeInfo> find(const VolumeId& id) const;
  // limit_reached while it is in use.
  Status remove(const VolumeId& id, const CancelToken& token);

  // Begins a use, which the caller keeps as long as a sandbox has the volume. Does not block.
  Result<Use> use(const VolumeId& id, Access access) { return uses_->begin(id, access); }
  Use adopt_use(const VolumeId& id, Access access) { return uses_->adopt(id, access); }
  UseCount uses_of(const VolumeId& id) const { return uses_->count(id); }
  // Mounts a volume of which the caller has a use: a detached mount, see disk/file_system.hpp. Waits until the token's
  // deadline for a sandbox that is being removed: then limit_reached.
  Result<UniqueFd> mount(const VolumeId& id, Access access, const CancelToken& token) const;

  const DiskOptions& options() const { return options_; }

 private:
  std::string directory_of(const std::string& tenant) const { return directory_ + "/" + tenant; }
  std::string path_of(const VolumeId& id) const { return directory_of(id.tenant) + "/" + id.name + ".img"; }
  Status check(const VolumeId& id) const;
  Result<std::vector<VolumeInfo>> list_of(const std::string& tenant) const;
  Result<VolumeInfo> create_named(const VolumeId& id, Bytes size, const CancelToken& token);
  Status check_allowance(const std::string& tenant, Bytes size, const Allowance& allowance) const;

  std::string directory_;
  DiskOptions options_;
  std::shared_ptr<disk::Ledger> ledger_;
  std::shared_ptr<Uses> uses_ = std::make_shared<Uses>();
  std::mutex changing_;  // one creation or removal at a time
};

}  // namespace cloche::volume
