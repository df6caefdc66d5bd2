#include "backend/docker/examine.hpp"

#include <algorithm>

#include "backend/docker/labels.hpp"

namespace cloche::docker {

namespace {

Finding finding(std::string name, Finding::Level level, std::string detail, std::string advice = "") {
  return Finding{std::move(name), level, std::move(detail), std::move(advice)};
}

Finding runtimes(const EngineFacts& facts) {
  std::string list;
  bool has_gvisor = false;
  for (const auto& runtime : facts.runtimes) {
    const bool is_gvisor = runtime.kernel() == Kernel::own;
    list.append(list.empty() ? "" : ", ").append(runtime.name).append(is_gvisor ? " (gVisor)" : "");
    has_gvisor = has_gvisor || is_gvisor;
  }
  list += "; default " + facts.default_runtime;
  if (has_gvisor) return finding("docker runtimes", Finding::Level::good, list);
  return finding(
      "docker runtimes", Finding::Level::warning, list,
      "for the strongest isolation, install gVisor and register it by the path of runsc in the engine's daemon.json");
}

Finding walls(const EngineFacts& facts) {
  const auto runtime = choose_runtime(facts, "auto");
  const auto missing = missing_walls(facts, runtime ? *runtime : "");
  if (missing.empty())
    return finding("docker limits", Finding::Level::good, "memory, swap, cpu, pids and seccomp are enforced");
  std::string what, advice;
  for (const auto& wall : missing) {
    what.append(what.empty() ? "not enforced: " : ", ").append(wall.what);
    advice.append(advice.empty() ? "" : "; ").append(wall.advice);
  }
  return finding("docker limits", Finding::Level::missing, what, advice);
}

}  // namespace

std::vector<Finding> unreachable_findings(const Error& error) {
  return {finding("docker engine", Finding::Level::missing, error.message,
                  "install and start a Docker engine, or set DOCKER_HOST; without one the oci backend still works")};
}

Finding runtime_finding(const std::string& runtime, const Status& started, bool needed) {
  const std::string name = "docker runtime " + runtime;
  if (started) return finding(name, Finding::Level::good, "starts sandboxes");
  return finding(name, needed ? Finding::Level::missing : Finding::Level::warning,
                 "cannot start a sandbox: " + started.error().message,
                 "update the runtime to a version that this engine supports, or use another one");
}

std::vector<Finding> engine_findings(const EngineFacts& facts, ApiVersion api, const http::Endpoint& endpoint) {
  std::vector<Finding> findings;
  findings.push_back(finding("docker engine", Finding::Level::good,
                             facts.server_version + " at " + http::describe(endpoint) + ", API " + to_string(api) +
                                 ", cgroup v" + facts.cgroup_version));
  if (std::holds_alternative<http::TcpEndpoint>(endpoint)) {
    findings.push_back(finding("docker transport", Finding::Level::warning,
                               "connected without TLS: anyone who can reach the engine controls its host",
                               "set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH"));
  }
  findings.push_back(runtimes(facts));
  findings.push_back(walls(facts));
  return findings;
}

Finding removals_finding(const std::vector<ContainerSummary>& containers) {
  std::string resisting;
  for (const ContainerSummary& container : containers) {
    const bool is_stuck = container.state == "dead" || container.state == "removing";
    if (!is_stuck || labels::owner_of(container.labels).empty()) continue;
    resisting.append(resisting.empty() ? "" : ", ").append(container.id.substr(0, 12) + " (" + container.state + ")");
  }
  if (resisting.empty()) return finding("docker removals", Finding::Level::good, "no sandbox resists its removal");
  return finding("docker removals", Finding::Level::warning, "not removed: " + resisting,
                 "see the engine's log; the server of the sandbox tries again");
}

}  // namespace cloche::docker
