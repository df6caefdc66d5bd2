// The bundle: the description of a sandbox for a runtime (config.json of the OCI runtime specification). No I/O.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "backend/kernel/seccomp.hpp"
#include "backend/oci/root/root_plan.hpp"
#include "backend/oci/root/uid_ranges.hpp"
#include "gpu/gpu.hpp"
#include "sandbox/spec.hpp"

namespace cloche::oci {

// A source of the host as the runtime finds it, which may be another path than the one a caller gave.
struct BundleBind {
  std::string source;
  std::string target;
  Access access = Access::read_only;
  enum class Execution { allowed, forbidden } execution = Execution::allowed;
};

struct BundleParts {
  std::string root;                          // the skeleton; the agent is in it
  std::vector<BundleBind> root_binds;        // the image's parts
  std::vector<BundleBind> mounts;            // the caller's
  std::vector<BundleBind> disk;              // work and home directory, of WorkspaceKind::disk
  std::vector<BundleBind> volumes;           // outer before inner
  std::vector<std::string> agent_arguments;  // after its name
  UidRange uids;
  std::string user_namespace;            // path of one that is made already; empty: the runtime makes it
  std::string cgroup_path;               // empty: the runtime leaves cgroups alone
  std::vector<gpu::DeviceNode> devices;  // of GPUs
  // In a user namespace no node can be made, so those of the host are bound. gVisor has its own for a device that is
  // listed.
  enum class Devices { bound, listed };
  Devices devices_are = Devices::bound;
  SeccompDialect seccomp = SeccompDialect::linux_kernel;
  enum class ProcOptions { plain, hide_processes };
  // Hidden, a program sees only processes of its own user.
  ProcOptions proc = ProcOptions::hide_processes;
};

// Where the agent is in every sandbox.
inline constexpr std::string_view agent_target = "/.cloche/agent";

// How many files the agent may have open; it lowers the limit for programs.
std::uint64_t agent_open_files(const Limits& limits);

boost::json::object make_bundle(const SandboxSpec& spec, const BundleParts& parts);

}  // namespace cloche::oci
