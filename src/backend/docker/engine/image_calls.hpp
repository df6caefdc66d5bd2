// Calls of the Engine API about images, typed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/docker/engine/engine.hpp"
#include "backend/docker/image/image_reference.hpp"

namespace cloche::docker {

struct ImageDetails {
  std::string id;                    // sha256:…
  std::vector<std::string> volumes;  // places that every container of it gets a volume at
  std::map<std::string, std::string> labels;
};

// The progress of a pull or a build.
using Progress = std::function<void(std::string_view line)>;

struct BuildSettings {
  std::string tag;
  std::string dockerfile = "Dockerfile";
  std::map<std::string, std::string> arguments;
  std::map<std::string, std::string> labels;
  std::string network = "none";  // of the build's own steps
};

// `not_found` when the engine does not have it.
Task<Result<ImageDetails>> inspect_image(Engine& engine, std::string image, Deadline deadline);
// `not_found` if the registry does not have it or denies access.
Task<Status> pull_image(Engine& engine, ImageReference reference, Progress progress, Deadline deadline);
// An image of one layer, whose files are in the tar archive.
Task<Status> import_image(Engine& engine, ImageReference reference, std::string archive, Deadline deadline);
// Builds from a context, a tar archive that `context` yields piece by piece.
Task<Status> build_image(Engine& engine, BuildSettings settings, http::BodySource context, Progress progress,
                         Deadline deadline);
Task<Status> tag_image(Engine& engine, std::string image, std::string repository, std::string tag, Deadline deadline);
// Fine when it is gone already.
Task<Status> remove_image(Engine& engine, std::string image, Deadline deadline);

}  // namespace cloche::docker
