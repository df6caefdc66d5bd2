/// @file
/// Resource limits of a sandbox. A backend enforces every limit or refuses to create the sandbox.
#pragma once

#include <cstdint>
#include <optional>

#include "cloche/bytes.hpp"
#include "cloche/visibility.hpp"

namespace cloche {

/// Limits of one sandbox.
struct Limits {
  Bytes memory = mib(128);          ///< Memory of the whole sandbox, including its tmpfs files. Swap is never used.
  double cpus = 0.5;                ///< Share of CPU time: 0.5 is half a core.
  std::uint32_t pids = 64;          ///< Processes and threads. With crun and runc this includes those of the agent.
  Bytes file_size = mib(10);        ///< Size of one file that a program writes.
  std::uint64_t open_files = 1024;  ///< Open files of one process.
  Bytes work_dir = mib(64);         ///< Size of the work directory's tmpfs.
  Bytes tmp_dir = mib(32);          ///< Size of /tmp.
  Bytes shm_dir = mib(16);          ///< Size of /dev/shm.
};

/// The limits that can be changed for one lease of a running sandbox.
struct CLOCHE_API LimitOverrides {
  std::optional<Bytes> memory;              ///< See Limits.
  std::optional<double> cpus;               ///< See Limits.
  std::optional<std::uint32_t> pids;        ///< See Limits.
  std::optional<Bytes> file_size;           ///< See Limits.
  std::optional<std::uint64_t> open_files;  ///< See Limits.

  /// Returns true if no limit is set.
  bool empty() const { return !memory && !cpus && !pids && !file_size && !open_files; }
  /// Returns the given limits with the values that are set here.
  Limits over(Limits limits) const;
};

}  // namespace cloche
