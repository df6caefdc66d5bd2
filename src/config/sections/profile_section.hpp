// One of `profiles:` of a configuration.
#pragma once

#include <map>
#include <string>
#include <string_view>

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
  bool gpus_with_network = false;  // whether a profile with GPUs may have a network
};

Profile read_profile(const std::string& name, Section& section, const ProfileDefaults& defaults);

// A map of environment variables.
void read_variables(Section& section, std::string_view key, std::map<std::string, std::string>& variables);

ZygoteSpec read_zygote(Section& section);

// Lower-case letters, digits, '_' and '-'; at most 32. The name is part of those of sandboxes.
bool is_profile_name(std::string_view text);

// As in a shell: letters, digits and '_', not starting with a digit.
bool is_variable_name(std::string_view text);

}  // namespace cloche::config
