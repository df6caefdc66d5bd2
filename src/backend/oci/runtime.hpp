// Runtime: a program that puts a process behind walls (crun, runc, runsc), what is special about each, and how it is
// told to start a sandbox.
//
// Starting is all that Cloche asks of a runtime. A sandbox ends through its cgroup, and a runtime's own notes are in
// the sandbox's run directory and go with it: its `delete` would only look for what is gone already (20 ms with crun, a
// second with runsc).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backend/oci/bundle.hpp"
#include "backend/oci/cgroup.hpp"
#include "backend/oci/private_mounts.hpp"
#include "core/deadline.hpp"
#include "core/result.hpp"

namespace cloche::oci {

// What is special about a runtime.
struct RuntimeTraits {
  std::string_view name;
  std::string_view package;  // Debian's
  SeccompDialect seccomp = SeccompDialect::linux_kernel;
  BundleParts::ProcOptions proc = BundleParts::ProcOptions::hide_processes;
  enum class Cgroups { left_alone, given_ours };  // whether it insists on cgroups of its own: then it is told of ours
  Cgroups cgroups = Cgroups::left_alone;
  enum class Hybrid { accepts, refuses };  // a v2 hierarchy with controllers beside v1
  Hybrid hybrid = Hybrid::accepts;
  enum class StatFlags { all, not_no_automount };  // whether its kernel knows what Linux's does, and coreutils set
  StatFlags stat_flags = StatFlags::all;
  std::uint32_t own_threads = 0;  // that count as the sandbox's processes, beyond what the caller allowed
  Bytes least_memory;             // below this not even the runtime's own part fits
};

// Strongest first.
const std::vector<RuntimeTraits>& known_runtimes();
// nullptr for a name that is none.
const RuntimeTraits* find_runtime(std::string_view name);

struct Runtime {
  const RuntimeTraits* traits = nullptr;
  std::string program;             // absolute path
  std::vector<std::string> flags;  // before the sub-command, chosen for this version
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
};

// The runtimes of this host, looked for once.
class RuntimeCatalog {
 public:
  // `programs`: paths that replace the search, by runtime name.
  explicit RuntimeCatalog(std::map<std::string, std::string> programs);

  // invalid_argument for an unknown name; unsupported, with what to install, for one that is not here or lacks a flag.
  Result<Runtime> find(std::string_view name, Deadline deadline);

 private:
  std::map<std::string, std::string> programs_;
  std::mutex mutex_;
  std::map<std::string, Runtime, std::less<>> found_;
};

// Starts the sandbox and returns the host's number of its process 1 (with runsc: of the kernel that it runs in).
Result<pid_t> start_sandbox(const Runtime& runtime, RuntimeStart start, Deadline deadline);

// The first line of `--version`.
Result<std::string> runtime_version(const Runtime& runtime, Deadline deadline);

}  // namespace cloche::oci
