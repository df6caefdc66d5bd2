#include "sandbox/volume_targets.hpp"

#include <algorithm>
#include <ranges>
#include <string_view>

namespace cloche {

namespace {

// Each name becomes a directory, whose path is longer on the host.
constexpr std::size_t longest_target = 1024;
constexpr std::ptrdiff_t most_parts_of_target = 64;
constexpr std::ptrdiff_t longest_part_of_target = 255;

bool is_strictly_below(std::string_view path, std::string_view place) {
  return path.size() > place.size() + 1 && path.starts_with(place) && path[place.size()] == '/';
}

Status check_target(const std::string& target, const SandboxSpec& spec) {
  const std::string home = home_of(spec);
  const bool is_short = target.size() <= longest_target && std::ranges::count(target, '/') <= most_parts_of_target &&
                        std::ranges::all_of(target | std::views::split('/'), [](const auto& part) {
                          return std::ranges::distance(part) <= longest_part_of_target;
                        });
  if (!is_short) {
    return fail(ErrorCode::invalid_argument, "the target of a volume can have at most " +
                                                 std::to_string(longest_target) + " bytes, and " +
                                                 std::to_string(most_parts_of_target) + " names of at most " +
                                                 std::to_string(longest_part_of_target) + " bytes each");
  }
  if (is_clean_absolute_path(target)) {
    const bool is_named = is_strictly_below(target, volumes_directory) &&
                          target.find('/', std::string_view(volumes_directory).size() + 1) == target.npos;
    if (is_named || is_strictly_below(target, spec.work_dir) || is_strictly_below(target, home)) return {};
  }
  return fail(ErrorCode::invalid_argument, "the target of a volume must be " + std::string(volumes_directory) +
                                               "/NAME, or a path below " + spec.work_dir +
                                               (home == spec.work_dir ? "" : " or " + home) + ", not '" + target + "'");
}

}  // namespace

Status settle_volume_targets(std::vector<VolumeMount>& volumes, const SandboxSpec& spec) {
  if (volumes.size() > most_volumes_in_sandbox) {
    return fail(ErrorCode::invalid_argument, "a sandbox can have " + std::to_string(most_volumes_in_sandbox) +
                                                 " volumes, not " + std::to_string(volumes.size()));
  }
  for (VolumeMount& each : volumes) {
    if (each.target.empty()) each.target = std::string(volumes_directory) + "/" + each.name;
    CLOCHE_CHECK(check_target(each.target, spec));
  }
  for (const VolumeMount& one : volumes) {
    for (const VolumeMount& other : volumes) {
      if (&one == &other) continue;
      if (one.target == other.target || is_strictly_below(one.target, other.target)) {
        return fail(ErrorCode::invalid_argument,
                    "a volume at " + one.target + " and one at " + other.target + " cannot be in the same sandbox");
      }
      if (one.tenant == other.tenant && one.name == other.name) {
        return fail(ErrorCode::invalid_argument, "volume '" + one.name + "' is given twice");
      }
    }
  }
  return {};
}

Status check_apart_from_mounts(const std::vector<VolumeMount>& volumes, const SandboxSpec& spec) {
  for (const VolumeMount& each : volumes) {
    for (const Mount& mount : spec.mounts) {
      const bool overlap = each.target == mount.target || is_strictly_below(each.target, mount.target) ||
                           is_strictly_below(mount.target, each.target);
      if (!overlap) continue;
      return fail(ErrorCode::invalid_argument, "a volume at " + each.target + " and the profile's mount at " +
                                                   mount.target +
                                                   " cannot be in the same sandbox; choose another target");
    }
  }
  return {};
}

}  // namespace cloche
