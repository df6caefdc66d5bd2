/// @file
/// SandboxSpec: everything that a backend needs to create a sandbox. It contains nothing about individual runs:
/// environment, secrets and files are bound later, through the agent.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloche/limits.hpp"

namespace cloche {

/// What programs may do with a mount.
enum class Access { read_only, read_write };

/// A directory or file of the host that is visible in the sandbox.
struct Mount {
  std::string source;                 ///< The absolute path on the host.
  std::string target;                 ///< The absolute path in the sandbox.
  Access access = Access::read_only;  ///< What programs may do with it.
};

/// Where the files of the work directory and of the home directory are kept.
enum class WorkspaceKind {
  memory,  ///< In a tmpfs of the size Limits::work_dir, which counts as memory.
  disk,    ///< In a file system of the size SandboxSpec::disk_size on the host's disk.
};

/// The GPUs of a sandbox. By default none.
struct GpuRequest {
  bool all = false;              ///< Every GPU of the host.
  std::uint32_t count = 0;       ///< So many, whichever are free.
  std::vector<std::string> ids;  ///< These, by their index or UUID.

  /// Returns true if no GPU is requested.
  bool empty() const { return !all && count == 0 && ids.empty(); }
  bool operator==(const GpuRequest&) const = default;  ///< Compares all members.
};

/// The description of a sandbox.
struct SandboxSpec {
  /// oci: empty for the host's own /usr, or a root filesystem directory, an OCI layout directory or a `docker save`
  /// archive. docker: an image reference.
  std::string image;
  std::string runtime = "auto";         ///< crun, runc or runsc; auto: the strongest runtime that passed its probe.
  std::string work_dir = "/workspace";  ///< The directory in which programs start.
  /// The user of the programs, from 1 to 65533. Unset: 1000; on docker with a runtime that shares the host's kernel,
  /// and without mounts, a uid of the engine's host that no other sandbox has.
  std::optional<std::uint32_t> uid;
  std::uint32_t gid = 1000;      ///< The group of the programs, from 1 to 65533.
  std::string user = "sandbox";  ///< The name of that user and of its group.
  /// Whether programs may also run as root of the sandbox. Such a sandbox is never reset, only removed.
  bool root = false;
  std::string hostname = "sandbox";  ///< The host name that programs see.
  Limits limits;                     ///< Resource limits.
  /// Whether the server may carry connections of the programs to the outside. Where the runtime allows it, the sandbox
  /// is prepared for programs that use no proxy.
  bool egress = false;
  WorkspaceKind workspace = WorkspaceKind::memory;  ///< Where the work directory is.
  Bytes disk_size = mib(2048);                      ///< Of WorkspaceKind::disk.
  GpuRequest gpus;                                  ///< The GPUs that programs can use.
  std::vector<Mount> mounts;                        ///< Mounts of host files and directories.
  std::map<std::string, std::string> labels;        ///< Labels of the container, on docker.
  std::string name;                                 ///< The name. Empty: derived from the id.
  /// The time after which the creation fails if the agent has not responded.
  std::chrono::milliseconds ready_timeout{30'000};
};

}  // namespace cloche
