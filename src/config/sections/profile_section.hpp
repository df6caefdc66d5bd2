// One of `profiles:` of a configuration.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cloche/engine_options.hpp"
#include "cloche/profile.hpp"
#include "config/section.hpp"
#include "config/sections/pool_section.hpp"

namespace cloche::config {

// The defaults of a profile.
struct ProfileDefaults {
  std::string image;
  Limits limits;
  LimitOverrides limits_set;
  PoolDraft pool;
  Bytes most_disk = DiskOptions().max_size;
  bool gpus_with_network = false;  // whether a profile with GPUs may have a network
};

// `disk_size`, and nothing if it is missing. It is rejected below the smallest disk and above `most`.
std::optional<Bytes> read_disk_size(Section& section, Bytes most);

Profile read_profile(const std::string& name, Section& section, const ProfileDefaults& defaults);

// A map of environment variables.
void read_variables(Section& section, std::string_view key, std::map<std::string, std::string>& variables);

ZygoteSpec read_zygote(Section& section);

// Lower-case letters, digits, '_' and '-'; at most 32. The name is part of those of sandboxes.
bool is_profile_name(std::string_view text);

// As in a shell: letters, digits and '_', not starting with a digit.
bool is_variable_name(std::string_view text);

}  // namespace cloche::config
