// A configuration file, read: `cloche.yml`, or the autograder's `sandbox_config.yml`. docs/configuration.md has every
// key.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloche/manager_options.hpp"
#include "config/environment.hpp"
#include "config/section.hpp"
#include "config/settings.hpp"
#include "core/result.hpp"
#include "sandbox/volume_mount.hpp"

namespace cloche::config {

struct Config {
  ManagerOptions manager;
  ServerSettings server;
  SessionSettings sessions;
  SnapshotSettings snapshots;
  AccessSettings access;
  LogSettings log;
  DialectSettings dialects;
  // Volumes that every sandbox of a profile has, by the profile's name.
  std::map<std::string, std::vector<VolumeMount>> volumes;
  std::optional<Part> languages;  // what is below `languages:`; see runner/language_registry.hpp
  bool holds_secrets = false;     // the file contains the value of a secret
};

// `name` is the file's, for errors. Every error is invalid_argument and says file, line and key.
Result<Config> parse_config(std::string_view text, const std::string& name, const Environment& environment);

// Reads the file at `path`; if that is empty, the one in CLOCHE_CONFIG, else /etc/cloche/cloche.yml, and if that does
// not exist, the defaults. Rejects a file that every user can write, or that contains secrets and every user can read.
Result<Config> read_config(const std::string& path, const Environment& environment);

}  // namespace cloche::config
