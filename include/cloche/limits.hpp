/// @file
/// What a sandbox may use at most. A backend enforces every one of them or refuses to make the sandbox.
#pragma once

#include <cstdint>
#include <optional>

#include "cloche/bytes.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// What one sandbox may use.
struct Limits {
  Bytes memory = mib(128);          ///< of everything in the sandbox, its tmpfs files included; never any swap
  double cpus = 0.5;                ///< share of cpu time: 0.5 is half a core
  std::uint32_t pids = 64;          ///< processes and threads; with crun and runc the agent's own included
  Bytes file_size = mib(10);        ///< of one file a program writes
  std::uint64_t open_files = 1024;  ///< of one process
  Bytes work_dir = mib(64);         ///< of the work directory's tmpfs
  Bytes tmp_dir = mib(32);          ///< of /tmp
  Bytes shm_dir = mib(16);          ///< of /dev/shm
};

/// Those limits that can be changed while a sandbox lives, bound to one lease.
struct CLOCHE_API LimitOverrides {
  std::optional<Bytes> memory;              ///< see Limits
  std::optional<double> cpus;               ///< see Limits
  std::optional<std::uint32_t> pids;        ///< see Limits
  std::optional<Bytes> file_size;           ///< see Limits
  std::optional<std::uint64_t> open_files;  ///< see Limits

  /// None is set.
  bool empty() const { return !memory && !cpus && !pids && !file_size && !open_files; }
  /// The limits, those that are set here in place of theirs.
  Limits over(Limits limits) const;
};

}  // namespace cloche
