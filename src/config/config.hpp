// A configuration file, read: `cloche.yml`, or the autograder's `sandbox_config.yml`. docs/configuration.md has every
// key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cloche/manager_options.hpp"
#include "config/environment.hpp"
#include "config/section.hpp"
#include "config/settings.hpp"
#include "core/result.hpp"

namespace cloche::config {

struct Config {
  ManagerOptions manager;
  ServerSettings server;
  SessionSettings sessions;
  AccessSettings access;
  LogSettings log;
  std::optional<Part> languages;  // what is below `languages:`; see runner/language_registry.hpp
  bool holds_secrets = false;     // a secret's value stands in the file
};

// `name` is the file's, for errors. Every error is invalid_argument and says file, line and key.
Result<Config> parse_config(std::string_view text, const std::string& name, const Environment& environment);

// The file at `path`; if that is empty, the one that CLOCHE_CONFIG names, else /etc/cloche/cloche.yml, and if that is
// not there, what a file without any key would give. Refuses a file that every user can write, or that has secrets in
// it and every user can read.
Result<Config> read_config(const std::string& path, const Environment& environment);

}  // namespace cloche::config
