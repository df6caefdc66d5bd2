// The images of a Docker engine: found by their tag, known as current by a label.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "backend/docker/engine/engine.hpp"
#include "core/cancel_token.hpp"
#include "images/debian_root.hpp"
#include "images/recipe.hpp"

namespace cloche::images {

struct DockerImage {
  std::string inputs;  // the value of its label; empty for a foreign image
  std::uint64_t bytes = 0;
  std::string built;  // as the engine says it: 2026-01-31T12:00:00.5Z
};

// Nothing when the engine has no image of the recipe's tag.
Task<Result<std::optional<DockerImage>>> find_docker_image(docker::Engine& engine, Recipe recipe, Deadline deadline);

// Makes the recipe's tag of a root filesystem. The blocking part runs on the pool.
Task<Status> import_root(docker::Engine& engine, asio::thread_pool& pool, Recipe recipe, std::string inputs,
                         std::string root, CancelToken token);

// Pulls what the Dockerfile begins from, unless the engine has it. An error means that the registry cannot be used.
Task<Status> ensure_base(docker::Engine& engine, Recipe recipe, Progress progress, Deadline deadline);

// Makes the recipe's tag of its Dockerfile. `network`: of the build's steps, which install packages.
Task<Status> build_dockerfile(docker::Engine& engine, Recipe recipe, std::string inputs, std::string network,
                              Progress progress, Deadline deadline);

// Removes older images of the recipe, which lost their tag to a newer one. Those in use stay.
Task<Status> remove_older(docker::Engine& engine, Recipe recipe, Deadline deadline);

}  // namespace cloche::images
