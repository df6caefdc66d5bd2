// Targets: every backend and runtime the same tests run over.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sandbox/backend.hpp"
#include "support/lack.hpp"

namespace cloche::testing_support {

struct Target {
  std::string backend;  // fake, oci, docker, e2b, kubernetes
  std::string runtime;
  enum class Edition { debian, modern };  // modern: what scripts/modern-runtimes has built
  Edition edition = Edition::debian;

  std::string name() const { return backend + (is_modern() ? "_modern" : "") + (runtime.empty() ? "" : "_" + runtime); }
  bool is_modern() const { return edition == Edition::modern; }
  bool is_fake() const { return backend == "fake"; }
  bool is_e2b() const { return backend == "e2b"; }
  bool is_kubernetes() const { return backend == "kubernetes"; }
  bool is_gvisor() const { return runtime == "runsc" || runtime == "gvisor"; }
};

std::ostream& operator<<(std::ostream& out, const Target& target);

// fake, oci with crun, runc and runsc, docker with runc and runsc, oci with a modern runsc.
std::vector<Target> all_targets();
// These, a modern engine with runc and runsc, a service of ours that speaks E2B's API, and a Kubernetes cluster with
// runc, crun and gVisor.
std::vector<Target> all_targets_and_services();

// The thing that is missing for it on this host, and why; nullopt when it can be tested.
std::optional<Lack> lack_of(const Target& target);

// Directories of a test's own, gone with the object.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string agent_path();

// A backend of its own instance, with state and run directories in the scratch.
Result<std::unique_ptr<Backend>> make_backend(const Target& target, Executor executor, asio::thread_pool& threads,
                                              const Scratch& scratch, const InstanceId& instance,
                                              std::string agent = agent_path());

// A spec that works on the target: image and runtime set.
SandboxSpec spec_for(const Target& target);

}  // namespace cloche::testing_support
