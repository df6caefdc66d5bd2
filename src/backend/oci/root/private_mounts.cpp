#include "backend/oci/root/private_mounts.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "backend/oci/root/mountinfo.hpp"

namespace cloche::oci {

Result<bool> is_reachable_by_all(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    struct stat about;
    if (::stat(directory.c_str(), &about) != 0) return fail_errno("stat " + directory);
    if ((about.st_mode & S_IXOTH) == 0) return false;
  }
  return true;
}

bool has_mounts_below(std::string_view mountinfo, const std::string& path) {
  const auto places = parse_mountinfo(mountinfo);
  return std::ranges::any_of(places,
                             [&](const MountedPlace& place) { return place.mount_point.starts_with(path + "/"); });
}

Result<bool> is_noexec(const std::string& path) {
  struct statvfs about;
  if (::statvfs(path.c_str(), &about) != 0) return fail_errno("inspect the file system of " + path);
  return (about.f_flag & ST_NOEXEC) != 0;
}

Stage::Stage(std::string place, std::string mountinfo) : place_(std::move(place)), mountinfo_(std::move(mountinfo)) {}

Result<std::string> Stage::add_place(PathKind kind) {
  if (shown_ == 0) {
    CLOCHE_TRY(const bool open, is_reachable_by_all(place_ + "/x"));
    if (!open) {
      return fail(ErrorCode::permission_denied,
                  "sandboxes cannot reach " + place_ +
                      ": a directory in its path is not accessible to other users; choose another run_dir, or "
                      "run chmod o+x on it");
    }
    steps_.push_back({MountStep::Kind::tmpfs, {}, place_});
  }
  std::string shown = place_ + "/" + std::to_string(shown_++);
  make(shown, kind);
  return shown;
}

Result<std::string> Stage::put_on_stage(const std::string& source, PathKind kind) {
  CLOCHE_TRY(std::string shown, add_place(kind));
  steps_.push_back({MountStep::Kind::bind, source, shown});
  return shown;
}

Result<std::string> Stage::show_mount(const UniqueFd& mount) {
  CLOCHE_TRY(std::string shown, add_place(PathKind::directory));
  steps_.push_back({MountStep::Kind::attach, {}, shown, &mount});
  return shown;
}

Result<std::string> Stage::show(const std::string& source, PathKind kind, Access access) {
  CLOCHE_TRY(const bool reachable, is_reachable_by_all(source));
  const bool covered = access == Access::read_write || kind == PathKind::file || !has_mounts_below(mountinfo_, source);
  if (reachable && covered) return source;
  CLOCHE_TRY(std::string shown, put_on_stage(source, kind));
  if (access == Access::read_only) steps_.push_back({MountStep::Kind::protect, {}, shown});
  return shown;
}

Result<std::string> Stage::show_root(const std::string& skeleton) {
  CLOCHE_TRY(const bool reachable, is_reachable_by_all(skeleton));
  struct statvfs about;
  if (::statvfs(skeleton.c_str(), &about) != 0) return fail_errno("inspect the file system of " + skeleton);
  const bool restricted = (about.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC)) != 0;
  if (reachable && !restricted) return skeleton;
  return show_own_root(skeleton);
}

Result<std::string> Stage::show_own_root(const std::string& skeleton) {
  CLOCHE_TRY(std::string shown, put_on_stage(skeleton, PathKind::directory));
  steps_.push_back({MountStep::Kind::free, {}, shown});
  return shown;
}

void Stage::make(const std::string& path, PathKind kind) {
  const auto step = kind == PathKind::directory ? MountStep::Kind::make_directory : MountStep::Kind::make_file;
  steps_.push_back({step, {}, path});
}

void Stage::hide(const std::string& mount_point) { steps_.push_back({MountStep::Kind::detach, {}, mount_point}); }

}  // namespace cloche::oci
