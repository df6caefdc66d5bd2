// Flags that choose where sandboxes are made; several commands have them.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "cloche/engine_options.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche::cli {

// A check for flags: the name of a backend.
CLI::Validator is_backend();

struct EngineFlags {
  std::string backend{traits_of(EngineOptions().backend).name};
  std::string state_dir;
  std::string run_dir;
  std::string docker_host;

  void add_to(CLI::App& command);
  // The flags that are given, over `base`.
  EngineOptions options(EngineOptions base = {}) const;
};

}  // namespace cloche::cli
