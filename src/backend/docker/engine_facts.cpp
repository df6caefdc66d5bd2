#include "backend/docker/engine_facts.hpp"

#include <algorithm>

namespace cloche::docker {

namespace {

// "name=seccomp,profile=default"; an unconfined profile does not count.
bool means_seccomp(const std::string& option) {
  return option.find("seccomp") != option.npos && option.find("unconfined") == option.npos;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

}  // namespace

bool EngineFacts::has_runtime(std::string_view name) const {
  return std::ranges::find(runtimes, name) != runtimes.end();
}

EngineFacts facts_from_info(const json::value& info) {
  EngineFacts facts;
  facts.server_version = json::text(json::find(info, "ServerVersion"));
  facts.operating_system = json::text(json::find(info, "OSType"));
  if (const auto version = json::text(json::find(info, "CgroupVersion")); !version.empty())
    facts.cgroup_version = version;
  facts.runtimes = json::names(json::find(info, "Runtimes"));
  facts.default_runtime = json::text(json::find(info, "DefaultRuntime"));
  facts.limits_memory = json::truth(json::find(info, "MemoryLimit"));
  facts.limits_swap = json::truth(json::find(info, "SwapLimit"));
  facts.limits_cpu = json::truth(json::find(info, "CpuCfsPeriod")) && json::truth(json::find(info, "CpuCfsQuota"));
  facts.limits_pids = json::truth(json::find(info, "PidsLimit"));
  facts.has_seccomp = std::ranges::any_of(json::texts(json::find(info, "SecurityOptions")), means_seccomp);
  return facts;
}

Task<Result<EngineFacts>> fetch_facts(Engine& engine, Deadline deadline) {
  Call call;
  call.method = "GET";
  call.path = "/info";
  call.accepts = {200};
  CLOCHE_CO_TRY(const Answer answer, co_await engine.call(std::move(call), deadline));
  if (!answer.body.is_object()) co_return fail(ErrorCode::protocol, "GET /info: the engine returned no information");
  co_return facts_from_info(answer.body);
}

Result<std::string> choose_runtime(const EngineFacts& facts, std::string_view wanted) {
  if (wanted == "auto" || wanted.empty()) {
    if (facts.has_runtime(gvisor)) return std::string(gvisor);
    if (!facts.default_runtime.empty()) return facts.default_runtime;
    return fail(ErrorCode::unsupported, "the engine reports no default runtime");
  }
  if (facts.has_runtime(wanted)) return std::string(wanted);
  return fail(ErrorCode::unsupported,
              "the engine has no runtime '" + std::string(wanted) + "'; it has " + joined(facts.runtimes) +
                  "; register it in the engine's daemon.json under \"runtimes\", or choose one of these");
}

std::vector<MissingWall> missing_walls(const EngineFacts& facts, std::string_view runtime) {
  std::vector<MissingWall> missing;
  if (facts.operating_system != "linux") missing.push_back({"Linux containers", "use an engine on Linux"});
  if (!facts.limits_memory)
    missing.push_back({"memory limit", "enable the memory cgroup (kernel option cgroup_enable=memory)"});
  if (!facts.limits_swap) missing.push_back({"swap limit", "boot with swapaccount=1, or use cgroup v2"});
  if (!facts.limits_cpu) missing.push_back({"cpu limit", "enable the cpu cgroup with CFS bandwidth control"});
  if (!facts.limits_pids) missing.push_back({"pids limit", "enable the pids cgroup"});
  // runsc answers system calls itself; the engine's filter does not stand between it and the program.
  if (!facts.has_seccomp && runtime != gvisor) {
    missing.push_back(
        {"seccomp", "use an engine built with seccomp and without --seccomp-profile=unconfined, or the runtime runsc"});
  }
  return missing;
}

Status check_walls(const EngineFacts& facts, std::string_view runtime) {
  std::string list;
  for (const auto& wall : missing_walls(facts, runtime)) {
    list.append(list.empty() ? "" : "; ").append(wall.what).append(" (").append(wall.advice).append(")");
  }
  if (list.empty()) return {};
  return fail(ErrorCode::unsupported, "the engine cannot enforce: " + list);
}

}  // namespace cloche::docker
