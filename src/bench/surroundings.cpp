#include "bench/surroundings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "backend/docker/engine/engine_facts.hpp"
#include "backend/docker/engine/image_calls.hpp"
#include "backend/docker/engine/options.hpp"
#include "process/programs.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

std::filesystem::path make_scratch() {
  const char* base = std::getenv("TMPDIR");
  std::string name = std::string(base != nullptr ? base : "/tmp") + "/cloche-bench.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a directory " + name);
  ::chmod(name.c_str(), 0755);  // roots of sandboxes are below it
  return name;
}

}  // namespace

bool Target::has_engine() const {
  const BackendTraits* traits = find_backend(backend);
  return traits != nullptr && traits->engine != nullptr;
}

Surroundings::Surroundings(Options options) : options_(std::move(options)), scratch_(make_scratch()) {
  look_for_oci();
  look_for_docker();
}

Surroundings::~Surroundings() {
  std::error_code ignored;
  std::filesystem::remove_all(scratch_, ignored);
}

std::optional<Target> Surroundings::main_target() const {
  for (const char* runtime : {"crun", "runc"}) {
    for (const Target& target : targets_) {
      if (!target.has_engine() && target.runtime == runtime) return target;
    }
  }
  return std::nullopt;
}

std::filesystem::path Surroundings::make_directory(const std::string& name) {
  std::filesystem::path path = scratch_ / name;
  for (int i = 2; std::filesystem::exists(path); ++i) path = scratch_ / (name + "-" + std::to_string(i));
  std::filesystem::create_directories(path);
  return path;
}

void Surroundings::start(Task<> task) {
  asio::co_spawn(io_, std::move(task), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);  // out of the loop, to its caller
  });
}

void Surroundings::turn_while(const std::function<bool()>& wanted) {
  if (io_.stopped()) io_.restart();
  while (wanted()) io_.run_one();
}

void Surroundings::look_for_oci() {
  if (::geteuid() != 0) {
    lacks_.push_back({"oci", "the oci backend requires root"});
    return;
  }
  for (const char* runtime : {"crun", "runc", "runsc"}) {
    if (!process::find_program(runtime)) {
      lacks_.push_back({std::string("oci/") + runtime, std::string(runtime) + " is not installed"});
    } else {
      targets_.push_back({"oci", runtime});
    }
  }
}

Task<Result<DockerEngine>> Surroundings::ask_engine() {
  DockerOptions settings = docker_options_from_environment();
  if (!options_.docker_host.empty()) settings.host = options_.docker_host;
  DockerEngine found;
  found.host = settings.host;
  found.image = options_.docker_image;
  CLOCHE_CO_TRY(found.endpoint, docker::engine_endpoint(settings));
  docker::Engine engine(executor(), found.endpoint);
  const auto deadline = Deadline::after(20s);
  CLOCHE_CO_TRY(const docker::ApiVersion version, co_await engine.api_version(deadline));
  CLOCHE_CO_TRY(docker::EngineFacts facts, co_await docker::fetch_facts(engine, deadline));
  auto image = co_await docker::inspect_image(engine, found.image, deadline);
  if (!image) {
    co_return fail(ErrorCode::not_found, "the engine has no image " + found.image +
                                             ": pull it, or choose an image with Python by --docker-image");
  }
  found.api_prefix = "/v" + docker::to_string(version);
  found.version = facts.server_version;
  for (const docker::EngineRuntime& runtime : facts.runtimes) found.runtimes.push_back(runtime.name);
  co_return found;
}

void Surroundings::look_for_docker() {
  auto found = await(ask_engine());
  if (!found) {
    lacks_.push_back({"docker", found.error().message});
    return;
  }
  docker_ = std::move(*found);
  for (const char* runtime : {"runc", "runsc"}) {
    if (std::ranges::find(docker_->runtimes, runtime) == docker_->runtimes.end()) {
      lacks_.push_back({std::string("docker/") + runtime, "the engine has no such runtime"});
    } else {
      targets_.push_back({"docker", runtime});
    }
  }
}

void tell(const std::string& words) { std::fprintf(stderr, "%s\n", words.c_str()); }

}  // namespace cloche::bench
