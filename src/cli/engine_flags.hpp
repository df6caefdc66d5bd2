// Flags that choose where sandboxes are made; several commands have them.
#pragma once

#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "cloche/engine_options.hpp"

namespace cloche::cli {

struct EngineFlags {
  std::string backend = "oci";
  std::string state_dir;
  std::string run_dir;
  std::string docker_host;

  void add_to(CLI::App& command);
  EngineOptions options() const;
};

}  // namespace cloche::cli
