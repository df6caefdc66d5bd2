#include "support/target.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "backend/docker/docker_backend.hpp"
#include "backend/e2b/e2b_backend.hpp"
#include "backend/kubernetes/kubernetes_backend.hpp"
#include "backend/oci/oci_backend.hpp"
#include "core/ids.hpp"
#include "sandbox/limits.hpp"
#include "sandbox/testing/fake_backend.hpp"
#include "support/e2b_server.hpp"

namespace cloche::testing_support {

namespace {

bool in_path(const std::string& program) {
  for (const char* directory : {"/usr/local/bin/", "/usr/local/sbin/", "/usr/bin/", "/usr/sbin/"}) {
    if (::access((directory + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// Where its engine listens, or where its runtime is.
const char* variable_of_modern(const Target& target) {
  return target.backend == "docker" ? "CLOCHE_TEST_MODERN_DOCKER_HOST" : "CLOCHE_TEST_MODERN_RUNSC";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Target& target) { return out << target.name(); }

std::vector<Target> all_targets() {
  return {{"fake", ""},
          {"oci", "crun"},
          {"oci", "runc"},
          {"oci", "runsc"},
          {"docker", "runc"},
          {"docker", "runsc"},
          {"oci", "runsc", Target::Edition::modern}};
}

std::vector<Target> all_targets_and_services() {
  std::vector<Target> targets = all_targets();
  targets.push_back({"docker", "runc", Target::Edition::modern});
  targets.push_back({"docker", "runsc", Target::Edition::modern});
  targets.push_back({"e2b", ""});
  for (const char* runtime : {"runc", "crun", "gvisor"}) targets.push_back({"kubernetes", runtime});
  return targets;
}

std::optional<Lack> lack_of(const Target& target) {
  if (::geteuid() != 0) return Lack{target.is_fake() ? "root" : target.backend, "sandboxes are made as root"};
  if (target.is_fake())
    return in_path("bwrap") ? std::nullopt : std::optional(Lack{"bubblewrap", "bwrap is not installed"});
  if (target.is_modern() && std::getenv(variable_of_modern(target)) == nullptr) {
    return Lack{"modern runtimes", "scripts/modern-runtimes has not built them"};
  }
  if (target.is_modern()) return std::nullopt;
  if (target.backend == "docker" && std::getenv("CLOCHE_TEST_DOCKER_HOST") == nullptr) {
    return Lack{"docker", "CLOCHE_TEST_DOCKER_HOST names no engine"};
  }
  if (target.is_kubernetes()) {
    if (std::getenv("CLOCHE_TEST_KUBECONFIG") != nullptr) return std::nullopt;
    return Lack{"kubernetes", "CLOCHE_TEST_KUBECONFIG names no cluster; make test-kubernetes starts one"};
  }
  if (target.is_e2b()) {
    if (!in_path("crun")) return Lack{"crun", "crun is not installed"};
    return lack_of_e2b_server();
  }
  if (!in_path(target.runtime)) return Lack{target.runtime, target.runtime + " is not installed"};
  return std::nullopt;
}

Scratch::Scratch() {
  const char* base = std::getenv("TMPDIR");
  std::string name = std::string(base != nullptr ? base : "/tmp") + "/cloche.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  ::chmod(name.c_str(), 0755);  // a sandbox's root is below it
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string agent_path() { return CLOCHE_TEST_AGENT; }

Result<std::unique_ptr<Backend>> make_backend(const Target& target, Executor executor, asio::thread_pool& threads,
                                              const Scratch& scratch, const InstanceId& instance, std::string agent) {
  if (target.is_fake()) return create_fake_backend(executor, {.agent_path = std::move(agent)});
  if (target.backend == "docker") {
    DockerOptions options;
    options.host = std::getenv(target.is_modern() ? variable_of_modern(target) : "CLOCHE_TEST_DOCKER_HOST");
    options.instance = instance;
    options.agent_path = std::move(agent);
    options.pull = PullPolicy::never;
    return create_docker_backend(executor, threads, std::move(options));
  }
  if (target.is_e2b()) {
    CLOCHE_TRY(const std::string url, e2b_server_url());
    E2bSettings settings;
    settings.api_key = e2b_server_key;
    settings.domain = "localhost";
    settings.template_name = "base";
    settings.api_url = settings.sandbox_url = url;
    settings.instance = instance;
    settings.agent_path = std::move(agent);
    return create_e2b_backend(executor, threads, std::move(settings));
  }
  if (target.is_kubernetes()) {
    KubernetesOptions options;
    options.kubeconfig = std::getenv("CLOCHE_TEST_KUBECONFIG");
    options.agent_image = "cloche.local/agent:test";
    options.image_pull_policy = "Never";
    CLOCHE_TRY(KubernetesSettings settings, kubernetes_settings(options));
    settings.instance = instance;
    return create_kubernetes_backend(executor, threads, std::move(settings));
  }
  OciOptions options;
  options.state_dir = scratch.path() / "state";
  options.run_dir = scratch.path() / "run";
  options.gpu_dir = scratch.path() / "gpus";
  // Not the host's own: tests lend only what they make up.
  options.gpu_places.specifications = {scratch.path() / "cdi"};
  options.gpu_places.devices = scratch.path() / "devices";
  options.instance = instance;
  options.agent_path = std::move(agent);
  if (target.is_modern()) options.runtime_paths["runsc"] = std::getenv(variable_of_modern(target));
  return create_oci_backend(executor, threads, std::move(options));
}

SandboxSpec spec_for(const Target& target) {
  SandboxSpec spec;
  if (target.backend == "docker") spec.image = "cloche-test/debian";
  if (target.is_kubernetes()) spec.image = "cloche.local/debian:test";
  if (!target.runtime.empty()) spec.runtime = target.runtime;
  spec.limits.cpus = 1;
  if (target.is_e2b()) spec.limits = limits_of_image(spec.limits);
  return spec;
}

}  // namespace cloche::testing_support
