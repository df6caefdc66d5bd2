// The embedded backend: sandboxes made by an OCI runtime (crun, runc, runsc), without any daemon.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "cloche/engine_options.hpp"
#include "core/async/task.hpp"
#include "disk/ledger.hpp"
#include "gpu/places.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

struct OciOptions {
  std::string state_dir = "/var/lib/cloche";  // images, root skeletons, copies of the agent: may be kept
  std::string run_dir = "/run/cloche";        // what lives: journals, named pipes; must be reachable by all users
  std::string uid_dir = "/run/cloche/uids";   // the uids in use: one directory for the whole host
  std::string gpu_dir = "/run/cloche/gpus";   // the GPUs that are lent: one directory for the whole host
  gpu::Places gpu_places;
  InstanceId instance;
  std::string agent_path;                            // the static agent program
  std::map<std::string, std::string> runtime_paths;  // by name; a name of no known kind adds a runtime
  DiskOptions disk;                                  // without a directory: `disks` in state_dir
  std::shared_ptr<disk::Ledger> ledger;              // shared with others that need the host's disk; none: its own
};

// invalid_argument for options that make no sense. What this host lacks is said by create() and by examine().
// `executor` is that of the one thread that owns all state; `pool` does what blocks, and outlives the backend.
Result<std::unique_ptr<Backend>> create_oci_backend(Executor executor, asio::thread_pool& pool, OciOptions options);

}  // namespace cloche
