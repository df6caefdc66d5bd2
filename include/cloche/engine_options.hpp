/// @file
/// What an engine is made with.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cloche {

/// What makes sandboxes: an OCI runtime, without a daemon, or a Docker engine.
enum class BackendKind { oci, docker };

/// Where an engine keeps its things, and whose they are.
struct EngineOptions {
  BackendKind backend = BackendKind::oci;     ///< what makes the sandboxes
  std::string state_dir = "/var/lib/cloche";  ///< root filesystems, images, the agent
  std::string run_dir = "/run/cloche";        ///< what is gone after a reboot
  /// Names an owner of sandboxes in `state_dir`, held by one process at a time: letters, digits and '-'. Empty: an
  /// owner of this engine alone: its sandboxes end with it, if it is killed with the next engine of the same `run_dir`.
  std::string instance;

  /// oci: paths of runtimes by name. A known name (crun, runc, runsc) is not searched for any more; any other name adds
  /// a runtime that a spec can ask for, whose kind its `--version` tells.
  std::map<std::string, std::string> runtimes;

  /// Docker. Empty: DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, else the engine's usual socket.
  std::string docker_host;
  /// For bind mounts when Cloche itself runs in a container: its paths to the host's, the longest prefix wins.
  std::map<std::string, std::string> host_path_map;
};

/// One thing that a host can or cannot do.
struct HostFinding {
  std::string backend;  ///< whose finding it is: `oci` or `docker`
  std::string name;     ///< of the thing
  /// How it stands.
  enum class Level { good, warning, missing };
  Level level = Level::good;  ///< how it stands
  std::string detail;         ///< what was found
  std::string advice;         ///< what to do about it, when it is not good
};

}  // namespace cloche
