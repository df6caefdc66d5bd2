// DiskStore: the disks of one server's sandboxes. From any thread; blocking.
//
// A disk is a file system of a fixed size, and that size is the quota: a full disk is ENOSPC for programs on it, and
// nothing for the rest of the host. Its image has no name, its device is detached by the kernel, and its mount is in no
// directory of the host. So nothing has to be removed: a disk goes with the last process that sees it, also if Cloche
// is killed at any step.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cloche/engine_options.hpp"
#include "core/bytes.hpp"
#include "core/cancel_token.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "disk/blank.hpp"
#include "disk/file_system.hpp"
#include "disk/ledger.hpp"
#include "sandbox/spec.hpp"

namespace cloche::disk {

// The smallest disk.
inline constexpr Bytes least_size = least_disk;

// The options with a directory: `disks` in the state directory if they name none.
DiskOptions with_directory(DiskOptions options, const std::string& state_dir);

// What the file system of a directory has for disks. `max_total` is that of DiskOptions.
Result<Ledger::Room> room_in(const std::string& directory, Bytes max_total);

// The directories of a disk.
inline constexpr const char* work_directory = "work";
inline constexpr const char* home_directory = "home";

class DiskStore {
 public:
  // `options.dir` is not empty. The ledger may be shared with others that need the host's disk.
  explicit DiskStore(DiskOptions options, std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>());

  // A detached mount with the two directories. It counts as the disk of this id until release(), also if this fails.
  // invalid_argument if the size is out of range, limit_reached if there is no room, unsupported if this host cannot
  // have disks.
  Result<UniqueFd> make(const std::string& id, Bytes size, Owner owner, const CancelToken& token);
  // A disk that an earlier process made.
  void note(const std::string& id, Bytes size) { ledger_->note(id, size); }
  void release(const std::string& id) { ledger_->release(id); }

  // Makes a small disk, writes to it and drops it. The result is remembered: a success for good, a failure for minutes.
  Status probe(const CancelToken& token);
  // The same, without looking at what is remembered.
  Status probe_again(const CancelToken& token);

  Result<Ledger::Room> room() const;
  Bytes promised() const { return ledger_->promised(); }
  const DiskOptions& options() const { return options_; }

 private:
  Result<UniqueFd> make_any(Bytes size, Owner owner, const CancelToken& token);
  Status make_directory() const;
  Status try_one(const CancelToken& token);

  DiskOptions options_;
  BlankImages images_;
  std::shared_ptr<Ledger> ledger_;

  std::mutex probing_;
  struct Probed {
    Status outcome;
    std::chrono::steady_clock::time_point when;
  };
  std::optional<Probed> probed_;
};

}  // namespace cloche::disk
