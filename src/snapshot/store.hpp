// SnapshotStore: the snapshots of one server: files of sessions, which outlive them. From any thread; blocking.
//
//   DIRECTORY/TENANT/manifests/ID     what a snapshot is made of; see snapshot/manifest.hpp
//   DIRECTORY/TENANT/pieces/SHA-256   pieces of files, which the tenant's snapshots share
//
// Tenants share nothing: what one has stored must not be told to another by the time that a snapshot takes.
//
// The manifest is written last and removed first. So a manifest never names a piece that is not there, and what a crash
// leaves is drafts and pieces that no manifest names, which the next start removes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "snapshot/manifest.hpp"
#include "snapshot/shelf.hpp"

namespace cloche::snapshot {

class Taking;
class Reading;

struct SnapshotOptions {
  std::string directory;
  Bytes max_size = mib(8 * 1024);         // of the files of one snapshot
  std::uint64_t max_entries = 1'000'000;  // of one snapshot
  // Of the file system, which a snapshot must leave; without it a twentieth, 1 GiB at the most.
  std::optional<Bytes> least_free;
};

// What a tenant may have.
struct Allowance {
  std::optional<std::uint32_t> snapshots;
  std::optional<Bytes> bytes;  // of all its snapshots, as stored
};

struct NewSnapshot {
  std::string tenant;
  std::string name;  // empty: none
  std::string session;
  std::string profile;
  Manifest::Lifetime lifetime = Manifest::Lifetime::lasting;
};

// The snapshots of one tenant.
struct TenantSnapshots {
  explicit TenantSnapshots(const std::string& directory)
      : manifests(directory + "/manifests"), pieces(directory + "/pieces"), shelf(pieces) {}

  struct Stored {
    SnapshotInfo info;
    Manifest::Lifetime lifetime = Manifest::Lifetime::lasting;
  };

  std::string manifests;
  std::string pieces;
  Shelf shelf;
  // Guarded by the store's mutex.
  std::map<std::string, Stored> snapshots;  // by id
  std::set<std::string> names_taken;        // of those that are being taken
  std::uint32_t taking = 0;                 // that will last
};

class SnapshotStore : public std::enable_shared_from_this<SnapshotStore> {
 public:
  explicit SnapshotStore(SnapshotOptions options) : options_(std::move(options)) {}

  // Finds the snapshots that exist, and removes what is left of others. To be called once, before the other functions.
  Status open();

  // invalid_argument for the name, already_exists if the tenant has a snapshot with this name, limit_reached over the
  // allowance.
  Result<std::unique_ptr<Taking>> take(NewSnapshot wanted, Allowance allowance);
  // By id or name. not_found if the tenant has none. It can be read to its end even if it is removed meanwhile.
  Result<std::unique_ptr<Reading>> read(const std::string& tenant, const std::string& which);

  // Those that last, the oldest first; of one tenant, or of all.
  std::vector<SnapshotInfo> list(const std::optional<std::string>& tenant) const;
  // By id or name: not_found if the tenant has none that lasts.
  Result<SnapshotInfo> find(const std::string& tenant, const std::string& which) const;
  // The id of the one with this id or name, also of a temporary one.
  Result<std::string> id_of(const std::string& tenant, const std::string& which) const;
  // Also a temporary one.
  Status remove(const std::string& tenant, const std::string& which);
  // Of one tenant, or of all: pieces, each counted once a tenant, temporary snapshots among them.
  Bytes stored(const std::optional<std::string>& tenant) const;

  const SnapshotOptions& options() const { return options_; }

 private:
  friend class Taking;

  std::string directory_of(const std::string& tenant) const { return options_.directory + "/" + tenant; }
  Status open_tenant(const std::string& name);
  Status open_manifest(TenantSnapshots& tenant, const std::string& name, const std::string& file);
  Result<std::shared_ptr<TenantSnapshots>> tenant_for(const std::string& name);
  std::shared_ptr<TenantSnapshots> known_tenant(const std::string& name) const;
  // The snapshot with this id or name.
  static const TenantSnapshots::Stored* look_up(const TenantSnapshots& tenant, const std::string& which);
  Result<Manifest> manifest_of(const TenantSnapshots& tenant, const std::string& id) const;
  Status admit(TenantSnapshots& tenant, const NewSnapshot& wanted, const Allowance& allowance);

  SnapshotOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<TenantSnapshots>> tenants_;
};

}  // namespace cloche::snapshot
