#include "host/backends.hpp"

#include <algorithm>

#include "backend/docker/docker_backend.hpp"
#include "backend/e2b/e2b_backend.hpp"
#include "backend/kubernetes/kubernetes_backend.hpp"
#include "backend/oci/oci_backend.hpp"
#include "host/embedded_agent.hpp"

namespace cloche {

namespace {

struct BackendParts {
  Executor executor;
  asio::thread_pool& threads;
  const EngineOptions& options;
  const InstanceId& instance;
  std::string agent_path;
  std::shared_ptr<disk::Ledger> ledger;
};

Result<std::unique_ptr<Backend>> make_oci(BackendParts parts) {
  OciOptions oci;
  oci.state_dir = parts.options.state_dir;
  oci.run_dir = parts.options.run_dir;
  oci.instance = parts.instance;
  oci.agent_path = std::move(parts.agent_path);
  oci.runtime_paths = parts.options.runtimes;
  oci.disk = parts.options.disk;
  oci.ledger = std::move(parts.ledger);
  return create_oci_backend(std::move(parts.executor), parts.threads, std::move(oci));
}

Result<std::unique_ptr<Backend>> make_docker(BackendParts parts) {
  DockerOptions docker = docker_options_from_environment();
  if (!parts.options.docker_host.empty()) docker.host = parts.options.docker_host;
  docker.instance = parts.instance;
  docker.agent_path = std::move(parts.agent_path);
  docker.host_path_map = parts.options.host_path_map;
  docker.uids = {parts.options.docker_first_uid, parts.options.docker_uids};
  return create_docker_backend(std::move(parts.executor), parts.threads, std::move(docker));
}

Result<std::unique_ptr<Backend>> make_e2b(BackendParts parts) {
  CLOCHE_TRY(E2bSettings e2b, e2b_settings(parts.options.e2b));
  e2b.instance = parts.instance;
  e2b.agent_path = std::move(parts.agent_path);
  return create_e2b_backend(std::move(parts.executor), parts.threads, std::move(e2b));
}

Result<std::unique_ptr<Backend>> make_kubernetes(BackendParts parts) {
  CLOCHE_TRY(KubernetesSettings kubernetes, kubernetes_settings(parts.options.kubernetes));
  kubernetes.instance = parts.instance;
  return create_kubernetes_backend(std::move(parts.executor), parts.threads, std::move(kubernetes));
}

struct BackendMaker {
  BackendKind kind;
  Result<std::unique_ptr<Backend>> (*make)(BackendParts parts);
};

constexpr BackendMaker makers[] = {{BackendKind::oci, &make_oci},
                                   {BackendKind::docker, &make_docker},
                                   {BackendKind::e2b, &make_e2b},
                                   {BackendKind::kubernetes, &make_kubernetes}};

Result<std::unique_ptr<Backend>> make(BackendParts parts) {
  const auto* maker = std::ranges::find(makers, parts.options.backend, &BackendMaker::kind);
  if (maker == std::end(makers)) return fail(ErrorCode::unsupported, "this program was built without this backend");
  return maker->make(std::move(parts));
}

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(Executor executor, asio::thread_pool& threads,
                                              const EngineOptions& options, const InstanceId& instance,
                                              std::shared_ptr<disk::Ledger> ledger) {
  CLOCHE_TRY(std::string agent_path, place_agent(options.state_dir));
  return make({std::move(executor), threads, options, instance, std::move(agent_path), std::move(ledger)});
}

Result<std::unique_ptr<Backend>> make_searching_backend(Executor executor, asio::thread_pool& threads,
                                                        const EngineOptions& options, const InstanceId& instance) {
  return make({std::move(executor), threads, options, instance, agent_place(options.state_dir), nullptr});
}

unsigned blocking_threads(const ManagerOptions& options) {
  // One to remove again what resists, for pools and for the backend each; limits, images and examinations share two.
  constexpr unsigned others = 4;
  constexpr unsigned most = 256;
  return std::min(most, options.max_making + options.max_removing + others);
}

}  // namespace cloche
