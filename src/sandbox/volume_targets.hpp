// Where volumes may be in a sandbox.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "sandbox/spec.hpp"
#include "sandbox/volume_mount.hpp"

namespace cloche {

// Volumes of one sandbox.
inline constexpr std::size_t most_volumes_in_sandbox = 16;

// Sets the targets that are empty, to /volumes/NAME, and checks all: invalid_argument unless each is /volumes/NAME, or
// is below the work directory or the home directory, none is at or below another, and no volume is there twice.
Status settle_volume_targets(std::vector<VolumeMount>& volumes, const SandboxSpec& spec);

// For volumes that come with the sandbox: invalid_argument if one and a mount of the spec are inside each other, since
// neither could be made before the other.
Status check_apart_from_mounts(const std::vector<VolumeMount>& volumes, const SandboxSpec& spec);

}  // namespace cloche
