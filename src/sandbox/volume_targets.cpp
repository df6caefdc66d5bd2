#include "sandbox/volume_targets.hpp"

#include <string_view>

namespace cloche {

namespace {

bool is_strictly_below(std::string_view path, std::string_view place) {
  return path.size() > place.size() + 1 && path.starts_with(place) && path[place.size()] == '/';
}

Status check_target(const std::string& target, const SandboxSpec& spec) {
  const std::string home = home_of(spec);
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

}  // namespace cloche
