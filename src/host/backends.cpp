#include "host/backends.hpp"

#include <algorithm>

#include "backend/docker/docker_backend.hpp"
#include "backend/oci/oci_backend.hpp"
#include "host/embedded_agent.hpp"

namespace cloche {

Result<std::unique_ptr<Backend>> make_backend(Executor executor, asio::thread_pool& threads,
                                              const EngineOptions& options, const InstanceId& instance) {
  CLOCHE_TRY(std::string agent_path, place_agent(options.state_dir));
  if (options.backend == BackendKind::docker) {
    DockerOptions docker = docker_options_from_environment();
    if (!options.docker_host.empty()) docker.host = options.docker_host;
    docker.instance = instance;
    docker.agent_path = std::move(agent_path);
    docker.host_path_map = options.host_path_map;
    return create_docker_backend(std::move(executor), threads, std::move(docker));
  }
  OciOptions oci;
  oci.state_dir = options.state_dir;
  oci.run_dir = options.run_dir;
  oci.instance = instance;
  oci.agent_path = std::move(agent_path);
  oci.runtime_paths = options.runtimes;
  return create_oci_backend(std::move(executor), threads, std::move(oci));
}

unsigned blocking_threads(const ManagerOptions& options) {
  // One to remove again what resists, for pools and for the backend each; limits, images and examinations share two.
  constexpr unsigned others = 4;
  constexpr unsigned most = 256;
  return std::min(most, options.max_making + options.max_removing + others);
}

}  // namespace cloche
