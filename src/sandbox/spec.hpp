// Specs that make sense.
#pragma once

#include <string>
#include <string_view>

#include "cloche/spec.hpp"
#include "core/result.hpp"
#include "sandbox/limits.hpp"

namespace cloche {

// Refuses relative paths, `..`, NUL, uid 0, a target that hides what Cloche mounts itself, bad names.
Status validate(const SandboxSpec& spec);

// Of one sandbox.
inline constexpr std::uint32_t most_gpus = 64;

// The user of a sandbox's programs.
inline constexpr std::uint32_t usual_uid = 1000;
inline std::uint32_t uid_of(const SandboxSpec& spec) { return spec.uid.value_or(usual_uid); }

// The home directory of the programs. With a disk it is next to the work directory, so that what package managers and
// compilers keep in it is not among the files of the work.
std::string home_of(const SandboxSpec& spec);

// The home directory of root in sandboxes with SandboxSpec::root, and where its programs keep what they need at run
// time.
inline constexpr std::string_view root_home = "/root";
inline constexpr std::string_view root_run_dir = "/run";

// The smallest SandboxSpec::disk_size.
inline constexpr Bytes least_disk = mib(8);

// True for an absolute path of plain components: no `..`, no `.`, no NUL, no doubled slashes.
bool is_clean_absolute_path(std::string_view path);

}  // namespace cloche
