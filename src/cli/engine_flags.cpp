#include "cli/engine_flags.hpp"

namespace cloche::cli {

CLI::Validator is_backend() {
  std::vector<std::string> names;
  for (const BackendTraits& backend : all_backends()) names.emplace_back(backend.name);
  return CLI::IsMember(std::move(names));
}

void EngineFlags::add_to(CLI::App& command) {
  command.add_option("--backend", backend, "Backend: " + describe_backends())
      ->envname("SANDBOX_BACKEND")
      ->check(is_backend())
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

EngineOptions EngineFlags::options(EngineOptions base) const {
  if (const BackendTraits* found = find_backend(backend)) base.backend = found->kind;
  if (!state_dir.empty()) base.state_dir = state_dir;
  if (!run_dir.empty()) base.run_dir = run_dir;
  if (!docker_host.empty()) base.docker_host = docker_host;
  return base;
}

}  // namespace cloche::cli
