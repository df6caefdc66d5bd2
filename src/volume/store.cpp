#include "volume/store.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "auth/names.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "disk/blank.hpp"
#include "disk/file_system.hpp"
#include "disk/loop_device.hpp"
#include "disk/store.hpp"
#include "volume/image_lock.hpp"

namespace cloche::volume {

namespace {

using disk::BlankImages;

static_assert(owner == BlankImages::lasting_owner);

constexpr std::string_view suffix = ".img";

std::string ledger_id(const VolumeId& id) { return "volume " + id.tenant + "/" + id.name; }

std::string name_of(const VolumeId& id) { return "volume '" + id.name + "' of tenant '" + id.tenant + "'"; }

// What concerns the host alone is in the log.
Error for_strangers(Error error, const std::string& step) {
  const bool is_callers = error.code == ErrorCode::not_found || error.code == ErrorCode::limit_reached ||
                          error.code == ErrorCode::timeout || error.code == ErrorCode::cancelled;
  if (is_callers) return std::move(error).at(step);
  log::error("{}: {}", step, error.message);
  error.message = step + ": failed; see the server log";
  if (error.code != ErrorCode::unsupported) error.code = ErrorCode::internal;
  return error;
}

Status make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail_errno("create a directory of volumes");
}

// A name in a directory survives a crash of the host from now on, or its removal does.
Status sync_directory(const std::string& path) {
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return fail_errno("sync a directory of volumes");
  return {};
}

Result<std::vector<std::string>> entries_of(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (!directory && errno == ENOENT) return names;
  if (!directory) return fail_errno("list volumes");
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// Of the tenant's directory.
Result<std::vector<std::string>> volume_names(const std::string& path) {
  CLOCHE_TRY(std::vector<std::string> files, entries_of(path));
  std::vector<std::string> names;
  for (std::string& file : files) {
    if (!file.ends_with(suffix)) continue;
    file.resize(file.size() - suffix.size());
    if (auth::is_valid_name(file)) names.push_back(std::move(file));
  }
  return names;
}

Result<VolumeInfo> look_at(const std::string& path, VolumeId id) {
  struct statx about{};
  const int looked = ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &about);
  if (looked != 0 && (errno == ENOENT || errno == ENOTDIR)) return fail(ErrorCode::not_found, "no " + name_of(id));
  if (looked != 0) return fail_errno("stat a volume");
  constexpr std::uint64_t block = 512;
  VolumeInfo info;
  info.id = std::move(id);
  info.size = Bytes{about.stx_size};
  info.allocated = Bytes{about.stx_blocks * block};
  const bool has_birth = (about.stx_mask & STATX_BTIME) != 0;
  info.created = std::chrono::system_clock::from_time_t(has_birth ? about.stx_btime.tv_sec : about.stx_ctime.tv_sec);
  return info;
}

// The directory that mke2fs makes has no use for a user.
void remove_lost_and_found(int mount) {
  struct stat about{};
  if (::fstatat(mount, "lost+found", &about, AT_SYMLINK_NOFOLLOW) != 0 || about.st_uid != 0) return;
  ::unlinkat(mount, "lost+found", AT_REMOVEDIR);
}

Result<UniqueFd> mount_image(UniqueFd image, Access access, const DiskOptions& options) {
  CLOCHE_TRY(const disk::LoopDevice device, disk::LoopDevice::attach(image.get(), access));
  // The device keeps the lock from here on.
  image.reset();
  fault_point<"volume.attached">();
  const bool returned = access == Access::read_write && !options.preallocate;
  CLOCHE_TRY(UniqueFd mount,
             disk::mount_detached(device, returned ? disk::Deleted::returned : disk::Deleted::kept, access));
  if (access == Access::read_write) remove_lost_and_found(mount.get());
  fault_point<"volume.mounted">();
  return mount;
}

// Proves that this host can mount it.
Status try_image(int image, const DiskOptions& options) {
  const std::string unnamed = "/proc/self/fd/" + std::to_string(image);
  UniqueFd again(::open(unnamed.c_str(), O_RDWR | O_CLOEXEC));
  if (!again || ::flock(again.get(), LOCK_EX | LOCK_NB) != 0) return fail_errno("open a volume");
  CLOCHE_CHECK(mount_image(std::move(again), Access::read_write, options));
  return {};
}

}  // namespace

VolumeStore::VolumeStore(std::string directory, DiskOptions options, std::shared_ptr<disk::Ledger> ledger)
    : directory_(std::move(directory)), options_(std::move(options)), ledger_(std::move(ledger)) {}

Status VolumeStore::check(const VolumeId& id) const {
  CLOCHE_CHECK(auth::check_tenant(id.tenant));
  return auth::check_volume_name(id.name);
}

Status VolumeStore::open() {
  CLOCHE_TRY(const auto volumes, list(std::nullopt));
  for (const VolumeInfo& each : volumes) ledger_->note(ledger_id(each.id), each.size);
  return {};
}

Status VolumeStore::check_allowance(const std::string& tenant, Bytes size, const Allowance& allowance) const {
  CLOCHE_TRY(const auto present, list(tenant));
  if (allowance.volumes && present.size() >= *allowance.volumes) {
    return fail(ErrorCode::limit_reached, "volume limit reached (" + std::to_string(present.size()) + " of " +
                                              std::to_string(*allowance.volumes) + "); delete a volume");
  }
  Bytes all;
  for (const VolumeInfo& each : present) all.count += each.size.count;
  if (allowance.bytes && (size > *allowance.bytes || all.count > allowance.bytes->count - size.count)) {
    return fail(ErrorCode::limit_reached,
                "the volumes of a tenant may have " + to_string(*allowance.bytes) + " together and have " +
                    to_string(all) + ", so there is no room for one of " + to_string(size) + "; delete a volume");
  }
  return {};
}

Result<VolumeInfo> VolumeStore::create(const VolumeId& id, Bytes size, const Allowance& allowance,
                                       const CancelToken& token) {
  CLOCHE_CHECK(check(id));
  if (size < least_size || size > options_.max_size) {
    return fail(ErrorCode::invalid_argument, "the size of a volume must be between " + to_string(least_size) + " and " +
                                                 to_string(options_.max_size) + " (disk.max_size), not " +
                                                 to_string(size));
  }
  const std::lock_guard lock(changing_);
  if (find(id)) return fail(ErrorCode::already_exists, name_of(id) + " already exists");
  CLOCHE_CHECK(check_allowance(id.tenant, size, allowance));
  CLOCHE_CHECK(make_directory(directory_));
  CLOCHE_CHECK(make_directory(directory_of(id.tenant)));
  CLOCHE_TRY(const disk::Ledger::Room room, disk::room_in(directory_, options_.max_total));
  CLOCHE_CHECK(ledger_->promise(ledger_id(id), size, room));
  // A volume that has its name counts, whatever follows.
  struct Promise {
    Promise(disk::Ledger& of, std::string promised, std::string image)
        : ledger(of), entry(std::move(promised)), path(std::move(image)) {}
    ~Promise() {
      if (::access(path.c_str(), F_OK) != 0) ledger.release(entry);
    }
    disk::Ledger& ledger;
    std::string entry;
    std::string path;
  } const promise(*ledger_, ledger_id(id), path_of(id));
  auto made = create_named(id, size, token);
  if (!made) return fail(for_strangers(std::move(made).error(), "create " + name_of(id)));
  return made;
}

Result<VolumeInfo> VolumeStore::create_named(const VolumeId& id, Bytes size, const CancelToken& token) {
  const auto allocation = options_.preallocate ? BlankImages::Allocation::at_once : BlankImages::Allocation::as_written;
  BlankImages images(directory_of(id.tenant), allocation, BlankImages::Purpose::lasting);
  CLOCHE_TRY(const UniqueFd image, images.make(size, token));
  fault_point<"volume.image">();
  CLOCHE_CHECK(try_image(image.get(), options_));
  // Until the kernel has unmounted it.
  CLOCHE_CHECK(wait_for_lock(image.get(), Access::read_write, token));
  if (::fsync(image.get()) != 0) return fail_errno("sync a volume");
  const std::string unnamed = "/proc/self/fd/" + std::to_string(image.get());
  if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path_of(id).c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return fail_errno("name a volume");
  }
  fault_point<"volume.named">();
  CLOCHE_CHECK(sync_directory(directory_of(id.tenant)));
  CLOCHE_CHECK(sync_directory(directory_));
  return look_at(path_of(id), id);
}

Result<std::vector<VolumeInfo>> VolumeStore::list(const std::optional<std::string>& tenant) const {
  if (tenant) return list_of(*tenant);
  CLOCHE_TRY(const auto tenants, entries_of(directory_));
  std::vector<VolumeInfo> all;
  for (const std::string& each : tenants) {
    if (!auth::is_valid_name(each)) continue;
    CLOCHE_TRY(auto volumes, list_of(each));
    std::ranges::move(volumes, std::back_inserter(all));
  }
  return all;
}

Result<std::vector<VolumeInfo>> VolumeStore::list_of(const std::string& tenant) const {
  CLOCHE_CHECK(auth::check_tenant(tenant));
  CLOCHE_TRY(const auto names, volume_names(directory_of(tenant)));
  std::vector<VolumeInfo> volumes;
  for (const std::string& name : names) {
    auto found = find({tenant, name});
    // Deleted meanwhile.
    if (!found && found.error().code == ErrorCode::not_found) continue;
    if (!found) return fail(std::move(found).error());
    volumes.push_back(std::move(*found));
  }
  return volumes;
}

Result<VolumeInfo> VolumeStore::find(const VolumeId& id) const {
  CLOCHE_CHECK(check(id));
  CLOCHE_TRY(VolumeInfo info, look_at(path_of(id), id));
  info.uses = uses_->count(id);
  return info;
}

Status VolumeStore::remove(const VolumeId& id, const CancelToken& token) {
  CLOCHE_CHECK(find(id));
  const std::lock_guard lock(changing_);
  CLOCHE_TRY(const Use alone, uses_->begin(id, Access::read_write));
  const auto image = open_locked(path_of(id), Access::read_write, token);
  if (!image) return fail(for_strangers(image.error(), "delete " + name_of(id)));
  fault_point<"volume.remove">();
  if (::unlink(path_of(id).c_str()) != 0) return fail_errno("delete " + name_of(id));
  ledger_->release(ledger_id(id));
  fault_point<"volume.removed">();
  return sync_directory(directory_of(id.tenant));
}

Result<UniqueFd> VolumeStore::mount(const VolumeId& id, Access access, const CancelToken& token) const {
  CLOCHE_CHECK(check(id));
  const auto named = [&](Error error) {
    if (error.code == ErrorCode::not_found) return fail(ErrorCode::not_found, "no such volume: '" + id.name + "'");
    // This host could mount it when it was created: it is damaged.
    if (error.code == ErrorCode::unsupported) error.code = ErrorCode::internal;
    return fail(for_strangers(std::move(error), "mount " + name_of(id)));
  };
  auto image = open_locked(path_of(id), access, token);
  if (!image) return named(std::move(image).error());
  const auto dirty = needs_recovery(image->get());
  if (!dirty) return named(dirty.error());
  if (access == Access::read_only && *dirty) {
    // A read-only device cannot apply the journal. No reader can be there: they come after this.
    image->reset();
    auto writable = open_locked(path_of(id), Access::read_write, token);
    if (!writable) return named(std::move(writable).error());
    auto recovered = mount_image(std::move(*writable), Access::read_write, options_);
    if (!recovered) return named(std::move(recovered).error());
    recovered->reset();
    image = open_locked(path_of(id), access, token);
    if (!image) return named(std::move(image).error());
  }
  fault_point<"volume.locked">();
  auto mount = mount_image(std::move(*image), access, options_);
  if (!mount) return named(std::move(mount).error());
  return mount;
}

}  // namespace cloche::volume
