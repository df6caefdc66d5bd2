// Builder: makes images, unless they are current.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/docker/engine/options.hpp"
#include "cloche/engine_options.hpp"
#include "images/debian_root.hpp"
#include "images/docker_images.hpp"
#include "images/recipe.hpp"
#include "images/root_store.hpp"

namespace cloche::images {

enum class Way {
  dockerfile,             // from the Dockerfile; its base from a registry
  offline,                // from Debian's packages
  dockerfile_or_offline,  // the second where the registry cannot be used, and then it is said
};

// Whether images of this backend are root filesystems in the state directory: they are built offline only.
bool makes_directories(BackendKind backend);

struct BuildOptions {
  BackendKind backend = EngineOptions().backend;
  Way way = Way::offline;
  enum class Current { skip, build_again };
  Current current = Current::skip;
  std::string network = "default";  // of a Dockerfile's steps
  std::string state_dir;
  DockerOptions docker;
};

struct BuildReport {
  enum class State { built, current };
  State state = State::built;
  Method method = Method::offline;
  std::string image;  // what a profile names: a path or a tag
  std::uint64_t bytes = 0;
  std::string remark;  // why it was not made in the first of two ways
};

struct ImageState {
  enum class State { current, outdated, missing };
  State state = State::missing;
  std::string image;
  std::uint64_t bytes = 0;
};

class Builder {
 public:
  // invalid_argument for an invalid engine host, and for a method that the backend does not support.
  static Result<std::unique_ptr<Builder>> create(Executor executor, BuildOptions options, Progress progress);

  // Ends early with `cancelled` when the token is abandoned, or by the task's cancellation; then nothing is left.
  Task<Result<BuildReport>> build(Recipe recipe, CancelToken token);
  // The existing images, whichever way they were built.
  Task<Result<ImageState>> look(Recipe recipe, Deadline deadline);

 private:
  Builder(Executor executor, BuildOptions options, Progress progress, http::Endpoint endpoint);

  Result<BuildReport> build_oci(const Recipe& recipe, const CancelToken& token) const;
  Task<Result<BuildReport>> build_docker(Recipe recipe, CancelToken token);
  Task<Status> import(Recipe recipe, std::string inputs, CancelToken token);
  bool is_current(const std::string& label, const std::string& inputs) const;

  BuildOptions options_;
  Progress progress_;
  RootStore store_;
  docker::Engine engine_;
  asio::thread_pool pool_{1};
};

}  // namespace cloche::images
