// EngineFacts: what an engine says of itself, and what follows from it: which runtime a sandbox gets, and whether its
// walls would hold.
#pragma once

#include <string>
#include <vector>

#include "backend/docker/engine.hpp"

namespace cloche::docker {

struct EngineFacts {
  std::string server_version;
  std::string operating_system;  // linux, or nothing we can use
  std::string cgroup_version = "1";
  std::vector<std::string> runtimes;
  std::string default_runtime;
  bool limits_memory = false;
  bool limits_swap = false;
  bool limits_cpu = false;
  bool limits_pids = false;
  bool has_seccomp = false;

  bool has_runtime(std::string_view name) const;
};

EngineFacts facts_from_info(const json::value& info);
Task<Result<EngineFacts>> fetch_facts(Engine& engine, Deadline deadline);

// The name of gVisor's runtime: its kernel in user space is the strongest wall an engine has to offer.
inline constexpr std::string_view gvisor = "runsc";

// `auto`: runsc when the engine has it, else the engine's default. A name: that one, or `unsupported` with what there
// is.
Result<std::string> choose_runtime(const EngineFacts& facts, std::string_view wanted);

// One wall that the engine cannot raise, and what to do about it.
struct MissingWall {
  std::string what;
  std::string advice;
};
std::vector<MissingWall> missing_walls(const EngineFacts& facts, std::string_view runtime);

// `unsupported` with all missing protections, unless there are none.
Status check_walls(const EngineFacts& facts, std::string_view runtime);

}  // namespace cloche::docker
