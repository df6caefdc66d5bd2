/// @file
/// SandboxSpec: all that a backend needs to know to make a sandbox. Nothing of a caller's run is in it: environment,
/// secrets and files are bound later, over the channel.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cloche/limits.hpp"

namespace cloche {

/// What programs may do with a mount.
enum class Access { read_only, read_write };

/// A directory or file of the host, seen in the sandbox.
struct Mount {
  std::string source;                 ///< absolute path on the host
  std::string target;                 ///< absolute path in the sandbox
  Access access = Access::read_only;  ///< what programs may do with it
};

/// What programs can reach: nothing but their own loopback.
enum class Network { none };

/// The place where programs run.
struct SandboxSpec {
  /// oci: empty for the host's own /usr, else a root filesystem directory, an OCI layout directory or a `docker save`
  /// archive. docker: an image reference.
  std::string image;
  std::string runtime = "auto";                     ///< crun, runc, runsc; auto: the strongest that passed its probe
  std::string work_dir = "/workspace";              ///< a tmpfs that programs start in
  std::uint32_t uid = 1000;                         ///< user and group of the programs; never 0, which is the agent's
  std::uint32_t gid = 1000;                         ///< see uid
  std::string hostname = "sandbox";                 ///< what programs see
  Limits limits;                                    ///< what it may use
  Network network = Network::none;                  ///< what programs can reach
  std::vector<Mount> mounts;                        ///< seen in it
  std::map<std::string, std::string> labels;        ///< of the container, on docker
  std::string name;                                 ///< empty: made from the id
  std::chrono::milliseconds ready_timeout{30'000};  ///< until the agent has answered; then making it has failed
};

}  // namespace cloche
