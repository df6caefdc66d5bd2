// Runtime: a program that isolates a process (crun, runc, runsc), the properties of each, and how it starts a sandbox.
//
// Cloche uses a runtime only to start a sandbox. A sandbox is ended through its cgroup, and a runtime's own state is in
// the sandbox's run directory and is removed with it: its `delete` would only search for what is already gone (20 ms
// with crun, a second with runsc).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/oci/bundle.hpp"
#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/root/private_mounts.hpp"
#include "backend/oci/runtime/command.hpp"
#include "core/deadline.hpp"
#include "core/result.hpp"
#include "sandbox/kernel.hpp"

namespace cloche::oci {

// The properties of a kind of runtime.
struct RuntimeTraits {
  std::string_view name;     // of the kind: crun, runc or runsc
  std::string_view package;  // Debian's
  SeccompDialect seccomp = SeccompDialect::linux_kernel;
  BundleParts::ProcOptions proc = BundleParts::ProcOptions::hide_processes;
  enum class Cgroups { left_alone, given_ours };  // whether it insists on its own cgroups: then it gets ours
  Cgroups cgroups = Cgroups::left_alone;
  enum class Hybrid { accepts, refuses };  // a v2 hierarchy with controllers beside v1
  Hybrid hybrid = Hybrid::accepts;
  // Whether it enters a user namespace that is made before, or makes one. What gVisor counts is the sandbox's alone.
  enum class UserNamespace { entered, made };
  UserNamespace user_namespace = UserNamespace::entered;
  enum class Processes { counted_by_cgroup, counted_inside };  // inside: the cgroup counts threads of gVisor's kernel
  Processes processes = Processes::counted_by_cgroup;
  BundleParts::Devices devices = BundleParts::Devices::bound;
  Bytes least_memory;  // below this not even the runtime's own part fits
  Kernel kernel = Kernel::shared;
};

// Strongest first.
const std::vector<RuntimeTraits>& known_runtimes();
// nullptr for an unknown kind.
const RuntimeTraits* find_runtime(std::string_view kind);

struct Runtime {
  std::string name;  // as profiles call it: a kind, a configured name or a path
  const RuntimeTraits* traits = nullptr;
  std::string program;             // absolute path
  std::vector<std::string> flags;  // before the sub-command, chosen for this version
  // What the kernel that programs see cannot do; determined by a probe. Until then the worst is assumed for a kernel of
  // its own, and nothing for the host's.
  enum class StatFlags { all, not_no_automount };
  StatFlags stat_flags = StatFlags::all;
  // What the program needs to be told for a sandbox with GPUs; nullopt if it cannot make one.
  std::optional<std::vector<std::string>> gpu_flags;
};

struct RuntimeStart {
  std::string id;
  std::string bundle;  // directory
  std::string notes;   // directory for the runtime's own state
  std::string pid_file;
  int in = -1;
  int out = -1;
  int err = -1;
  const CgroupEntrance* entrance = nullptr;
  std::vector<MountStep> private_mounts;
  std::vector<process::ResourceLimit> limits;  // of the runtime, and so of the agent
  bool uses_gpus = false;
};

// The runtimes of this host, searched once.
class RuntimeCatalog {
 public:
  // `programs`: configured paths by name. A name that is not a kind of its own is asked for its kind by `--version`.
  explicit RuntimeCatalog(std::map<std::string, std::string> programs);

  // By name, or by absolute path. Fails with `unsupported` for an unknown name, and for a program that is missing (with
  // the searched paths and what to install) or lacks a flag.
  Result<Runtime> find(std::string_view name, Deadline deadline);

 private:
  Result<std::string> locate(std::string_view name) const;
  std::string known_names() const;

  std::map<std::string, std::string> programs_;
  std::mutex mutex_;
  std::map<std::string, Runtime, std::less<>> found_;
};

// unsupported, with what to do, if the runtime cannot make a sandbox with GPUs.
Status check_gpu_support(const Runtime& runtime);

// Starts the sandbox and returns the host's number of its process 1 (with runsc: of the kernel that it runs in).
Result<pid_t> start_sandbox(const Runtime& runtime, RuntimeStart start, Deadline deadline);

// The first line of `--version`.
Result<std::string> runtime_version(const Runtime& runtime, Deadline deadline);

}  // namespace cloche::oci
