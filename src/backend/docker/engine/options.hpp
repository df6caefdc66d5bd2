// DockerOptions: which engine to use, and how.
#pragma once

#include <cstdint>
#include <string>

#include "backend/docker/host_path_map.hpp"
#include "core/result.hpp"
#include "gpu/places.hpp"
#include "http/endpoint.hpp"
#include "sandbox/backend.hpp"

namespace cloche {

enum class PullPolicy {
  if_missing,  // an image that the engine does not have is pulled from its registry
  never,
};

// Uids of the engine's host, one for each sandbox. The default has the last that a tar archive of the old kind (ustar)
// can name: beyond users, `nobody` and the subordinate uids of the first 30 users, and in no range of the oci backend.
struct HostUids {
  std::uint32_t first = 2'093'056;
  std::uint32_t count = 4096;  // 0: sandboxes share the usual uid
};

struct DockerOptions {
  std::string host = "unix:///var/run/docker.sock";  // or tcp://host:port
  std::string certificates;  // directory of ca.pem, cert.pem and key.pem; if set, a tcp host is used with TLS
  InstanceId instance;       // used in labels: letters, digits, '-', '_' and '.'
  std::string agent_path;    // the static agent on this machine; read when first needed
  docker::HostPathMap host_path_map;
  PullPolicy pull = PullPolicy::if_missing;
  std::string name_prefix = "cloche";  // of the containers' names
  HostUids uids;
  std::string gpu_dir = "/run/cloche/gpus";  // the GPUs that are lent: one directory for the whole host
  gpu::Places gpu_places;
};

// The defaults, with DOCKER_HOST, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH over them, as the docker command reads them.
DockerOptions docker_options_from_environment();

namespace docker {

// The address of the engine from the options. `invalid_argument` or `unsupported` if it is invalid.
Result<http::Endpoint> engine_endpoint(const DockerOptions& options);

// Refuses an instance, a prefix or a map that could not be used later.
Status validate(const DockerOptions& options);

}  // namespace docker
}  // namespace cloche
