// BackendTraits: how backends differ for the code around them, one row each.
//
// A new backend is a folder in src/backend, a value of BackendKind, a row here and a row in host/backends.cpp. No other
// code compares with a particular backend: it asks the row (scripts/lint-backends).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cloche/engine_options.hpp"
#include "core/result.hpp"

namespace cloche {

struct BackendTraits {
  enum class Images {
    directories,  // root filesystems in the state directory, made from Debian's packages
    engine,       // images in the engine, also made from Dockerfiles
    templates,    // templates of a service, which are made there
    registry,     // images that the nodes of a cluster pull; they are built and pushed elsewhere
  };

  BackendKind kind;
  std::string_view name;     // in configurations, flags, journals and reports
  std::string_view summary;  // for help texts, behind the name

  // A sandbox without an image is impossible. Otherwise its root is this host's own /usr.
  bool needs_image;
  // The image of profiles that name none: that of the variable, or else the usual one. Both empty: the backend has its
  // own setting for it.
  std::string_view image_variable;
  std::string_view usual_image;
  Images images;

  // Memory, cpus and sizes of directories are the image's: specs leave them out (limits_of_image() in limits.hpp).
  bool has_sizes_of_image;

  // Sandboxes can have WorkspaceKind::disk, if the host can have such disks.
  bool has_disks;

  // Root of a sandbox is no user of the host, with every runtime: every profile can have SandboxSpec::root.
  bool contains_root;

  // What a dead owner left may be in its run directory, so each run directory has to be searched.
  bool uses_run_dir;

  // The engine's address: the option, the variable that it comes from, and what it is without both. Null: no engine.
  std::string EngineOptions::* engine = nullptr;
  std::string_view engine_variable;
  std::string_view usual_engine;
};

// In the order in which they are listed for people.
std::span<const BackendTraits> all_backends();

const BackendTraits& traits_of(BackendKind kind);

// Null if there is none of this name.
const BackendTraits* find_backend(std::string_view name);

// `invalid_argument` for an unknown name: "must be one of oci, docker, e2b, kubernetes, not `x`".
Result<BackendKind> parse_backend(std::string_view name);

// "oci, docker, e2b, kubernetes"
std::string backend_names();
// For help texts: "oci (an OCI runtime, no daemon), docker (a Docker engine), ...".
std::string describe_backends();

}  // namespace cloche
