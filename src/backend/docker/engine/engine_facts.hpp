// EngineFacts: what an engine says of itself, and what follows from it: which runtime a sandbox gets, and whether its
// walls would hold.
#pragma once

#include <string>
#include <vector>

#include "backend/docker/engine/engine.hpp"
#include "sandbox/kernel.hpp"

namespace cloche::docker {

// A runtime that is registered in the engine.
struct EngineRuntime {
  std::string name;
  std::string path;          // of its program; empty if `type` says how the engine starts it
  std::string type;          // as containerd names it, such as io.containerd.runsc.v1, or the path of a shim
  bool has_nvproxy = false;  // told to pass calls of NVIDIA's driver on

  // What the program or the type says; the name says nothing. The agent checks it in every sandbox.
  Kernel kernel() const;
};

struct EngineFacts {
  std::string server_version;
  std::string operating_system;  // linux, or nothing we can use
  std::string cgroup_version = "1";
  std::vector<EngineRuntime> runtimes;
  std::string default_runtime;
  bool limits_memory = false;
  bool limits_swap = false;
  bool limits_cpu = false;
  bool limits_pids = false;
  bool has_seccomp = false;
  bool has_user_namespaces = false;  // for all containers: uid 0 of a container is another uid of the host
  bool reads_cdi = false;

  // Null if the engine has no runtime of this name.
  const EngineRuntime* find_runtime(std::string_view name) const;
  // `shared` for a name that the engine does not have.
  Kernel kernel_of(std::string_view runtime) const;
};

EngineFacts facts_from_info(const json::value& info);
Task<Result<EngineFacts>> fetch_facts(Engine& engine, Deadline deadline);

// `auto`: the default if it is gVisor, else any runtime that is gVisor, else the default. gVisor's kernel in user space
// is the strongest protection that an engine has. A name: that one, or `unsupported` with the names that the engine
// has.
Result<std::string> choose_runtime(const EngineFacts& facts, std::string_view wanted);

// One wall that the engine cannot raise, and what to do about it.
struct MissingWall {
  std::string what;
  std::string advice;
};
std::vector<MissingWall> missing_walls(const EngineFacts& facts, std::string_view runtime);

// `unsupported` with all missing protections, unless there are none.
Status check_walls(const EngineFacts& facts, std::string_view runtime);

// `unsupported` if uid 0 of a container would be uid 0 of the host.
Status check_root(const EngineFacts& facts, std::string_view runtime);

}  // namespace cloche::docker
