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

/// What programs can reach: only their own loopback interface.
enum class Network { none };

/// The description of a sandbox.
struct SandboxSpec {
  /// oci: empty for the host's own /usr, or a root filesystem directory, an OCI layout directory or a `docker save`
  /// archive. docker: an image reference.
  std::string image;
  std::string runtime = "auto";         ///< crun, runc or runsc; auto: the strongest runtime that passed its probe.
  std::string work_dir = "/workspace";  ///< The directory in which programs start, a tmpfs.
  /// The user of the programs, from 1 to 65533. Unset: 1000; on docker with a runtime that shares the host's kernel,
  /// and without mounts, a uid of the engine's host that no other sandbox has.
  std::optional<std::uint32_t> uid;
  std::uint32_t gid = 1000;                   ///< The group of the programs, from 1 to 65533.
  std::string hostname = "sandbox";           ///< The host name that programs see.
  Limits limits;                              ///< Resource limits.
  Network network = Network::none;            ///< What programs can reach.
  std::vector<Mount> mounts;                  ///< Mounts of host files and directories.
  std::map<std::string, std::string> labels;  ///< Labels of the container, on docker.
  std::string name;                           ///< The name. Empty: derived from the id.
  /// The time after which the creation fails if the agent has not responded.
  std::chrono::milliseconds ready_timeout{30'000};
};

}  // namespace cloche
