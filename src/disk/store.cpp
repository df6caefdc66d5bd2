#include "disk/store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "core/fault_point.hpp"

namespace cloche::disk {

namespace {

using namespace std::chrono_literals;

constexpr auto failure_counts_for = 5min;

}  // namespace

DiskOptions with_directory(DiskOptions options, const std::string& state_dir) {
  if (options.dir.empty()) options.dir = state_dir + "/disks";
  return options;
}

Result<Ledger::Room> room_in(const std::string& directory, Bytes max_total) {
  struct statvfs about{};
  if (::statvfs(directory.c_str(), &about) != 0) return fail_errno("inspect the file system of " + directory);
  const Bytes whole{static_cast<std::uint64_t>(about.f_blocks) * about.f_frsize};
  const Bytes available{static_cast<std::uint64_t>(about.f_bavail) * about.f_frsize};
  const Bytes half{whole.count / 2};
  return Ledger::Room{max_total.count > 0 ? max_total : half, available};
}

DiskStore::DiskStore(DiskOptions options, std::shared_ptr<Ledger> ledger)
    : options_(std::move(options)),
      images_(options_.dir,
              options_.preallocate ? BlankImages::Allocation::at_once : BlankImages::Allocation::as_written),
      ledger_(std::move(ledger)) {}

Status DiskStore::make_directory() const {
  if (::mkdir(options_.dir.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail_errno("create the directory of disks " + options_.dir);
}

Result<Ledger::Room> DiskStore::room() const {
  CLOCHE_CHECK(make_directory());
  return room_in(options_.dir, options_.max_total);
}

Result<UniqueFd> DiskStore::make_any(Bytes size, Owner owner, const CancelToken& token) {
  CLOCHE_TRY(UniqueFd image, images_.make(size, token));
  CLOCHE_TRY(const LoopDevice device, LoopDevice::attach(image.get()));
  image.reset();
  // Blocks that were allocated for this disk stay its own.
  CLOCHE_TRY(UniqueFd mount, mount_detached(device, options_.preallocate ? Deleted::kept : Deleted::returned));
  CLOCHE_CHECK(add_directory(mount.get(), work_directory, owner));
  CLOCHE_CHECK(add_directory(mount.get(), home_directory, owner));
  fault_point<"disk.made">();
  return mount;
}

Result<UniqueFd> DiskStore::make(const std::string& id, Bytes size, Owner owner, const CancelToken& token) {
  if (size < least_size || size > options_.max_size) {
    return fail(ErrorCode::invalid_argument, "disk_size must be between " + to_string(least_size) + " and " +
                                                 to_string(options_.max_size) + " (disk.max_size), not " +
                                                 to_string(size));
  }
  CLOCHE_TRY(const Ledger::Room there, room());
  CLOCHE_CHECK(ledger_->promise(id, size, there));
  auto made = make_any(size, owner, token);
  if (!made) return fail(std::move(made).error().at("create a disk"));
  return made;
}

Status DiskStore::try_one(const CancelToken& token) {
  CLOCHE_CHECK(make_directory());
  CLOCHE_TRY(const UniqueFd mount, make_any(least_size, {}, token));
  const UniqueFd file(::openat(mount.get(), "work/probe", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), "probe", 5) != 5) return fail_errno("write to a disk");
  return {};
}

Status DiskStore::probe_again(const CancelToken& token) {
  const std::lock_guard lock(probing_);
  const Status outcome = try_one(token);
  // Given up on the caller's behalf: that says nothing about the host.
  CLOCHE_CHECK(token.check("probe disks"));
  probed_ = Probed{outcome, std::chrono::steady_clock::now()};
  return outcome;
}

Status DiskStore::probe(const CancelToken& token) {
  {
    const std::lock_guard lock(probing_);
    const bool known =
        probed_ && (probed_->outcome || std::chrono::steady_clock::now() - probed_->when < failure_counts_for);
    if (known) return probed_->outcome;
  }
  return probe_again(token);
}

}  // namespace cloche::disk
