#include "snapshot/store.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "auth/names.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "snapshot/snapshot_id.hpp"
#include "snapshot/taking.hpp"

namespace cloche::snapshot {

namespace {

using Lifetime = Manifest::Lifetime;

constexpr std::size_t most_of_manifest = std::size_t{64} << 20;

// References to pieces that nothing else will release.
class References {
 public:
  References(Shelf& shelf, const Manifest& manifest) : shelf_(shelf), manifest_(manifest) {}
  References(const References&) = delete;
  References& operator=(const References&) = delete;
  ~References() {
    shelf_.release(manifest_.work);
    if (manifest_.home) shelf_.release(*manifest_.home);
  }

 private:
  Shelf& shelf_;
  const Manifest& manifest_;
};

std::unexpected<Error> no_snapshot() { return fail(ErrorCode::not_found, "no such snapshot"); }

}  // namespace

Status SnapshotStore::open() {
  CLOCHE_CHECK(make_directory(options_.directory));
  CLOCHE_TRY(const auto names, names_in(options_.directory));
  for (const std::string& name : names) {
    if (!auth::is_valid_name(name)) continue;
    if (auto opened = open_tenant(name); !opened) return fail(std::move(opened).error().at("snapshots of " + name));
  }
  return {};
}

Status SnapshotStore::open_tenant(const std::string& name) {
  const auto tenant = std::make_shared<TenantSnapshots>(directory_of(name));
  CLOCHE_TRY(const auto files, names_in(tenant->manifests));
  for (const std::string& file : files) CLOCHE_CHECK(open_manifest(*tenant, name, file));
  CLOCHE_CHECK(tenant->shelf.sweep());
  tenants_.emplace(name, tenant);
  return {};
}

Status SnapshotStore::open_manifest(TenantSnapshots& tenant, const std::string& name, const std::string& file) {
  const std::string path = tenant.manifests + "/" + file;
  if (is_draft(file) && ::unlink(path.c_str()) != 0) return fail_errno("remove " + path);
  if (!is_id(file)) return {};
  auto bytes = read_whole(path, most_of_manifest);
  if (!bytes && bytes.error().code != ErrorCode::protocol) {
    // It may be readable the next time: until then its pieces stay.
    log::error("snapshots: {} cannot be read, so no files of this tenant's snapshots are removed: {}", path,
               bytes.error().message);
    tenant.shelf.keep_all();
    return {};
  }
  auto manifest = bytes ? read_manifest(*bytes) : Result<Manifest>(std::unexpected(bytes.error()));
  if (!manifest || manifest->info.id != file || manifest->info.tenant != name) {
    log::error("snapshots: {} is damaged and is put aside: {}", path,
               manifest ? "it is of another snapshot" : manifest.error().message);
    if (::rename(path.c_str(), (path + ".damaged").c_str()) != 0) return fail_errno("rename " + path);
    return {};
  }
  if (manifest->lifetime == Lifetime::temporary) {
    if (::unlink(path.c_str()) != 0) return fail_errno("remove " + path);
    return {};
  }
  tenant.shelf.count(manifest->work);
  if (manifest->home) tenant.shelf.count(*manifest->home);
  tenant.snapshots.emplace(file, TenantSnapshots::Stored{std::move(manifest->info), manifest->lifetime});
  return {};
}

std::shared_ptr<TenantSnapshots> SnapshotStore::known_tenant(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = tenants_.find(name);
  return found == tenants_.end() ? nullptr : found->second;
}

Result<std::shared_ptr<TenantSnapshots>> SnapshotStore::tenant_for(const std::string& name) {
  CLOCHE_CHECK(auth::check_tenant(name));
  const auto made = std::make_shared<TenantSnapshots>(directory_of(name));
  CLOCHE_CHECK(make_directory(directory_of(name)));
  CLOCHE_CHECK(make_directory(made->manifests));
  CLOCHE_CHECK(make_directory(made->pieces));
  const std::lock_guard lock(mutex_);
  return tenants_.emplace(name, made).first->second;
}

const TenantSnapshots::Stored* SnapshotStore::look_up(const TenantSnapshots& tenant, const std::string& which) {
  if (is_id(which)) {
    const auto found = tenant.snapshots.find(which);
    return found == tenant.snapshots.end() ? nullptr : &found->second;
  }
  const auto has_name = [&](const auto& each) { return !which.empty() && each.second.info.name == which; };
  const auto found = std::ranges::find_if(tenant.snapshots, has_name);
  return found == tenant.snapshots.end() ? nullptr : &found->second;
}

Status SnapshotStore::admit(TenantSnapshots& tenant, const NewSnapshot& wanted, const Allowance& allowance) {
  const std::lock_guard lock(mutex_);
  if (wanted.lifetime == Lifetime::temporary) return {};
  const auto lasts = [](const auto& each) { return each.second.lifetime == Lifetime::lasting; };
  const auto present = static_cast<std::size_t>(std::ranges::count_if(tenant.snapshots, lasts)) + tenant.taking;
  if (allowance.snapshots && present >= *allowance.snapshots) {
    return fail(ErrorCode::limit_reached, "snapshot limit reached (" + std::to_string(present) + " of " +
                                              std::to_string(*allowance.snapshots) + "); delete a snapshot");
  }
  if (!wanted.name.empty()) {
    if (look_up(tenant, wanted.name) != nullptr || !tenant.names_taken.insert(wanted.name).second) {
      return fail(ErrorCode::already_exists, "a snapshot with the name '" + wanted.name + "' already exists");
    }
  }
  ++tenant.taking;
  return {};
}

Result<std::unique_ptr<Taking>> SnapshotStore::take(NewSnapshot wanted, Allowance allowance) {
  if (!wanted.name.empty()) CLOCHE_CHECK(check_name(wanted.name));
  CLOCHE_TRY(auto tenant, tenant_for(wanted.tenant));
  CLOCHE_CHECK(admit(*tenant, wanted, allowance));
  Manifest manifest;
  manifest.lifetime = wanted.lifetime;
  manifest.info.id = random_id(id_letter);
  manifest.info.tenant = std::move(wanted.tenant);
  manifest.info.name = std::move(wanted.name);
  manifest.info.session = std::move(wanted.session);
  manifest.info.profile = std::move(wanted.profile);
  manifest.info.created = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return std::make_unique<Taking>(shared_from_this(), std::move(tenant), std::move(manifest), allowance);
}

Result<Manifest> SnapshotStore::manifest_of(const TenantSnapshots& tenant, const std::string& id) const {
  const std::string path = tenant.manifests + "/" + id;
  auto bytes = read_whole(path, most_of_manifest);
  // Removed meanwhile.
  if (!bytes && bytes.error().code == ErrorCode::not_found) return no_snapshot();
  auto manifest = bytes ? read_manifest(*bytes) : Result<Manifest>(std::unexpected(bytes.error()));
  if (manifest) return manifest;
  log::error("snapshots: {} cannot be read: {}", path, manifest.error().message);
  return fail(ErrorCode::internal, "the snapshot is damaged; delete it");
}

Result<std::unique_ptr<Reading>> SnapshotStore::read(const std::string& tenant, const std::string& which) {
  CLOCHE_TRY(const std::string id, id_of(tenant, which));
  const auto known = known_tenant(tenant);
  CLOCHE_TRY(Manifest manifest, manifest_of(*known, id));
  const std::lock_guard lock(mutex_);
  // Removed meanwhile: its pieces may be gone.
  if (!known->snapshots.contains(id)) return no_snapshot();
  CLOCHE_CHECK(known->shelf.refer(manifest.work));
  if (manifest.home) {
    if (auto referred = known->shelf.refer(*manifest.home); !referred) {
      known->shelf.release(manifest.work);
      return fail(std::move(referred).error());
    }
  }
  return std::make_unique<Reading>(known, std::move(manifest));
}

std::vector<SnapshotInfo> SnapshotStore::list(const std::optional<std::string>& tenant) const {
  std::vector<SnapshotInfo> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, each] : tenants_) {
    if (tenant && name != *tenant) continue;
    for (const auto& [id, stored] : each->snapshots) {
      if (stored.lifetime == Lifetime::lasting) all.push_back(stored.info);
    }
  }
  const auto place = [](const SnapshotInfo& info) { return std::tie(info.tenant, info.created, info.id); };
  std::ranges::sort(all, [&](const SnapshotInfo& a, const SnapshotInfo& b) { return place(a) < place(b); });
  return all;
}

Result<SnapshotInfo> SnapshotStore::find(const std::string& tenant, const std::string& which) const {
  const auto known = known_tenant(tenant);
  if (!known) return no_snapshot();
  const std::lock_guard lock(mutex_);
  const auto* found = look_up(*known, which);
  if (found == nullptr || found->lifetime == Lifetime::temporary) return no_snapshot();
  return found->info;
}

Result<std::string> SnapshotStore::id_of(const std::string& tenant, const std::string& which) const {
  const auto known = known_tenant(tenant);
  if (!known) return no_snapshot();
  const std::lock_guard lock(mutex_);
  const auto* found = look_up(*known, which);
  if (found == nullptr) return no_snapshot();
  return found->info.id;
}

Status SnapshotStore::remove(const std::string& tenant, const std::string& which) {
  CLOCHE_TRY(const std::string id, id_of(tenant, which));
  const auto known = known_tenant(tenant);
  // One that cannot be read is removed as well; its pieces are removed by the next start.
  auto manifest = manifest_of(*known, id);
  if (!manifest && manifest.error().code == ErrorCode::not_found) return no_snapshot();
  fault_point<"snapshot.remove.begun">();
  std::optional<References> references;
  {
    const std::lock_guard lock(mutex_);
    if (!known->snapshots.contains(id)) return no_snapshot();
    if (::unlink((known->manifests + "/" + id).c_str()) != 0) return fail_errno("remove a snapshot");
    known->snapshots.erase(id);
    if (manifest) references.emplace(known->shelf, *manifest);
  }
  fault_point<"snapshot.remove.unlinked">();
  // Before its pieces, also after a crash of the host.
  CLOCHE_CHECK(sync_directory(known->manifests));
  references.reset();
  fault_point<"snapshot.remove.done">();
  return {};
}

Bytes SnapshotStore::stored(const std::optional<std::string>& tenant) const {
  Bytes all;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, each] : tenants_) {
    if (!tenant || name == *tenant) all.count += each->shelf.stored().count;
  }
  return all;
}

}  // namespace cloche::snapshot
