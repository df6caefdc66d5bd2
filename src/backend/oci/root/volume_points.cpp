#include "backend/oci/root/volume_points.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "backend/oci/root/volumes.hpp"
#include "disk/store.hpp"

namespace cloche::oci {

namespace {

bool is_below(std::string_view path, std::string_view place) {
  return path.size() > place.size() && path.starts_with(place) && path[place.size()] == '/';
}

// The directories between a place and a path below it, and the path itself.
std::vector<std::string> steps_to(const std::string& path, std::string_view place) {
  std::vector<std::string> steps;
  for (std::size_t slash = path.find('/', place.size() + 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    steps.push_back(path.substr(0, slash));
  }
  steps.push_back(path);
  return steps;
}

// Each path once, in the order in which they came.
class Once {
 public:
  bool add(const std::string& path) { return seen_.insert(path).second; }

 private:
  std::set<std::string> seen_;
};

void add_in_memory(VolumePoints& points, const SandboxSpec& spec, const std::vector<MountedVolume>& volumes,
                   const std::vector<SourcedMount>& mounts) {
  // The skeleton has no directory for a work directory in /tmp.
  points.cover = is_below(spec.work_dir, "/tmp") ? "/tmp" : spec.work_dir;
  Once in_cover;
  Once opened;
  const auto add = [&](const std::string& target, PathKind kind) {
    for (const std::string& step : steps_to(target, points.cover)) {
      if (in_cover.add(step)) points.in_cover.push_back({step, step == target ? kind : PathKind::directory});
    }
  };
  for (const MountedVolume& each : volumes) {
    const std::string& target = each.volume.target;
    if (is_named(each.volume)) continue;
    add(target, PathKind::directory);
    for (const std::string& step : steps_to(target, spec.work_dir)) {
      if (step != target && opened.add(step)) points.opened.push_back(step);
    }
  }
  for (const SourcedMount& each : mounts) {
    const bool is_inside_another = std::ranges::any_of(
        mounts, [&](const SourcedMount& outer) { return is_below(each.mount.target, outer.mount.target); });
    if (is_below(each.mount.target, points.cover) && !is_inside_another) add(each.mount.target, each.kind);
  }
}

void add_on_disk(VolumePoints& points, const SandboxSpec& spec, const std::vector<MountedVolume>& volumes) {
  Once made;
  for (const MountedVolume& each : volumes) {
    const std::string& target = each.volume.target;
    if (is_named(each.volume)) continue;
    const bool is_work = is_below(target, spec.work_dir);
    const std::string place = is_work ? spec.work_dir : home_of(spec);
    const std::string directory = is_work ? disk::work_directory : disk::home_directory;
    for (const std::string& step : steps_to(target, place)) {
      std::string on_disk = directory + step.substr(place.size());
      if (made.add(on_disk)) points.on_disk.push_back(std::move(on_disk));
    }
  }
}

}  // namespace

VolumePoints points_for(const SandboxSpec& spec, const std::vector<MountedVolume>& volumes,
                        const std::vector<SourcedMount>& mounts) {
  VolumePoints points;
  const bool all_named = std::ranges::all_of(volumes, [](const auto& each) { return is_named(each.volume); });
  for (const MountedVolume& each : volumes) {
    if (!is_named(each.volume)) continue;
    points.named.push_back(each.volume.target.substr(std::string_view(volumes_directory).size() + 1));
  }
  if (all_named) return points;
  if (spec.workspace == WorkspaceKind::disk) {
    add_on_disk(points, spec, volumes);
  } else {
    add_in_memory(points, spec, volumes, mounts);
  }
  return points;
}

}  // namespace cloche::oci
