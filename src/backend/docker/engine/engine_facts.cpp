#include "backend/docker/engine/engine_facts.hpp"

#include <algorithm>
#include <cctype>

namespace cloche::docker {

namespace {

// "name=seccomp,profile=default"; an unconfined profile does not count.
bool means_seccomp(const std::string& option) {
  return option.find("seccomp") != option.npos && option.find("unconfined") == option.npos;
}

// In both an unprivileged user of the host is uid 0 of a container.
bool means_user_namespaces(const std::string& option) { return option == "name=userns" || option == "name=rootless"; }

std::string names_of(const std::vector<EngineRuntime>& runtimes) {
  std::string text;
  for (const auto& runtime : runtimes) text.append(text.empty() ? "" : ", ").append(runtime.name);
  return text;
}

// Whether `runsc` is a whole word of it: runsc, runsc-20260905, containerd-shim-runsc-v1, io.containerd.runsc.v1.
bool names_runsc(std::string_view text) {
  constexpr std::string_view word = "runsc";
  const auto is_part_of_word = [text](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    if (!is_part_of_word(at - 1) && !is_part_of_word(at + word.size())) return true;
  }
  return false;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_told_of_nvproxy(const std::vector<std::string>& arguments) {
  return std::ranges::any_of(arguments, [](const std::string& argument) {
    return argument == "--nvproxy" || argument == "-nvproxy" || argument.ends_with("-nvproxy=true");
  });
}

std::vector<EngineRuntime> read_runtimes(const json::value* found) {
  std::vector<EngineRuntime> runtimes;
  if (!found || !found->is_object()) return runtimes;
  for (const auto& member : found->get_object()) {
    runtimes.push_back({.name = std::string(member.key().data(), member.key().size()),
                        .path = json::text(json::find(member.value(), "path")),
                        .type = json::text(json::find(member.value(), "runtimeType")),
                        .has_nvproxy = is_told_of_nvproxy(json::texts(json::find(member.value(), "runtimeArgs")))});
  }
  return runtimes;
}

}  // namespace

Kernel EngineRuntime::kernel() const {
  return names_runsc(file_name(path)) || names_runsc(file_name(type)) ? Kernel::own : Kernel::shared;
}

const EngineRuntime* EngineFacts::find_runtime(std::string_view name) const {
  const auto found = std::ranges::find(runtimes, name, &EngineRuntime::name);
  return found == runtimes.end() ? nullptr : &*found;
}

Kernel EngineFacts::kernel_of(std::string_view runtime) const {
  const EngineRuntime* found = find_runtime(runtime);
  return found ? found->kernel() : Kernel::shared;
}

EngineFacts facts_from_info(const json::value& info) {
  EngineFacts facts;
  facts.server_version = json::text(json::find(info, "ServerVersion"));
  facts.operating_system = json::text(json::find(info, "OSType"));
  if (const auto version = json::text(json::find(info, "CgroupVersion")); !version.empty())
    facts.cgroup_version = version;
  facts.runtimes = read_runtimes(json::find(info, "Runtimes"));
  facts.default_runtime = json::text(json::find(info, "DefaultRuntime"));
  facts.reads_cdi = !json::texts(json::find(info, "CDISpecDirs")).empty();
  facts.limits_memory = json::truth(json::find(info, "MemoryLimit"));
  facts.limits_swap = json::truth(json::find(info, "SwapLimit"));
  facts.limits_cpu = json::truth(json::find(info, "CpuCfsPeriod")) && json::truth(json::find(info, "CpuCfsQuota"));
  facts.limits_pids = json::truth(json::find(info, "PidsLimit"));
  facts.has_seccomp = std::ranges::any_of(json::texts(json::find(info, "SecurityOptions")), means_seccomp);
  facts.has_user_namespaces =
      std::ranges::any_of(json::texts(json::find(info, "SecurityOptions")), means_user_namespaces);
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
    if (facts.kernel_of(facts.default_runtime) == Kernel::own) return facts.default_runtime;
    const auto gvisor = std::ranges::find(facts.runtimes, Kernel::own, &EngineRuntime::kernel);
    if (gvisor != facts.runtimes.end()) return gvisor->name;
    if (!facts.default_runtime.empty()) return facts.default_runtime;
    return fail(ErrorCode::unsupported, "the engine reports no default runtime");
  }
  if (facts.find_runtime(wanted)) return std::string(wanted);
  return fail(ErrorCode::unsupported,
              "the engine has no runtime '" + std::string(wanted) + "'; it has " + names_of(facts.runtimes) +
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
  // gVisor handles system calls itself and does not use the engine's filter.
  if (!facts.has_seccomp && facts.kernel_of(runtime) == Kernel::shared) {
    missing.push_back(
        {"seccomp", "use an engine built with seccomp and without --seccomp-profile=unconfined, or gVisor"});
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

Status check_root(const EngineFacts& facts, std::string_view runtime) {
  if (facts.kernel_of(runtime) == Kernel::own || facts.has_user_namespaces) return {};
  return fail(
      ErrorCode::unsupported,
      "root in a sandbox would be root of the engine's host: use a runtime with a kernel of its own (runsc), an "
      "engine with user namespaces (userns-remap, rootless), or the backend oci");
}

}  // namespace cloche::docker
