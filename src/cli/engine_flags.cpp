#include "cli/engine_flags.hpp"

namespace cloche::cli {

namespace {

std::string check_backend(const std::string& name) {
  if (name == "oci" || name == "docker") return {};
  if (name == "e2b") return "Cloche has no e2b backend; choose docker or oci";
  return name + " not in {oci,docker}";
}

}  // namespace

void EngineFlags::add_to(CLI::App& command) {
  command.add_option("--backend", backend, "Backend: oci (an OCI runtime, no daemon) or docker")
      ->envname("SANDBOX_BACKEND")
      ->check(CLI::Validator(check_backend, "{oci,docker}"))
      ->capture_default_str();
  command
      .add_option("--state-dir", state_dir, "Directory for root filesystems and the agent (default: /var/lib/cloche)")
      ->envname("CLOCHE_STATE_DIR")
      ->type_name("DIR");
  command.add_option("--run-dir", run_dir, "Directory for the state of running sandboxes (default: /run/cloche)")
      ->envname("CLOCHE_RUN_DIR")
      ->type_name("DIR");
  command.add_option("--docker-host", docker_host,
                     "The Docker engine, as unix:///path or tcp://host:port (default: DOCKER_HOST)");
}

EngineOptions EngineFlags::options() const {
  EngineOptions options;
  options.backend = backend == "docker" ? BackendKind::docker : BackendKind::oci;
  if (!state_dir.empty()) options.state_dir = state_dir;
  if (!run_dir.empty()) options.run_dir = run_dir;
  options.docker_host = docker_host;
  return options;
}

}  // namespace cloche::cli
