// `volumes:` of a profile: volumes that every sandbox of the profile has, read-only.
#pragma once

#include <vector>

#include "config/section.hpp"
#include "sandbox/spec.hpp"
#include "sandbox/volume_mount.hpp"

namespace cloche::config {

// `spec` is that of the profile.
std::vector<VolumeMount> read_volumes(Section& section, const SandboxSpec& spec);

}  // namespace cloche::config
