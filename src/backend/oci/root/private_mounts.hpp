// Mounts for a runtime only, in a mount namespace that ends with it, so that the host never sees them.
//
// crun refuses a host whose v2 hierarchy has a controller in addition to v1, even if it is told to leave cgroups alone:
// the v2 mount is hidden from it. Root in a sandbox is an unprivileged user of the host, so it cannot pass through a
// directory that is closed to others: a source below one is bound to a reachable path. And a runtime that is root only
// in a user namespace cannot make a mount read-only without naming all its other restrictions, which runsc does not do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/oci/root/root_plan.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/spec.hpp"

namespace cloche::oci {

struct MountStep {
  enum class Kind {
    detach,          // take away what is mounted at target
    tmpfs,           // an empty one at target
    make_directory,  // target
    make_file,       // target
    bind,            // source with all that is mounted below, at target
    attach,          // a mount that has no place yet, at target
    protect,         // target and all below: read-only
    free,            // target: without nosuid, nodev and noexec
  };
  Kind kind = Kind::bind;
  std::string source;
  std::string target;
  const UniqueFd* mount = nullptr;  // what is attached; there when the step is done
};

// True if every user can reach the path: each directory above it is open to others.
Result<bool> is_reachable_by_all(const std::string& path);
// True when something is mounted below the path. A read-only bind mount would not cover that.
bool has_mounts_below(std::string_view mountinfo, const std::string& path);

// True if the file system of the path is mounted noexec. A bind mount of it must be noexec, too.
Result<bool> is_noexec(const std::string& path);

// Decides for each source whether it can be used as it is, and collects the steps for those that cannot.
class Stage {
 public:
  // `place`: an empty directory that every user can reach.
  Stage(std::string place, std::string mountinfo);

  // The path under which the runtime finds the source.
  Result<std::string> show(const std::string& source, PathKind kind, Access access);
  // The same for the root skeleton, from which the agent must be executable.
  Result<std::string> show_root(const std::string& skeleton);
  // The same for a mount that has no place yet; it is made later, before the runtime starts.
  Result<std::string> show_mount(const UniqueFd& mount);
  // A root skeleton in which places can be covered, for this runtime alone.
  Result<std::string> show_own_root(const std::string& skeleton);
  // An empty directory of ours, in which others can be made.
  Result<std::string> show_empty() { return add_place(PathKind::directory); }
  // An empty file system at a directory of such a root.
  void cover(const std::string& place) { steps_.push_back({MountStep::Kind::tmpfs, {}, place}); }
  // What is missing in an empty directory or a covered place. Its parent is there.
  void make(const std::string& path, PathKind kind);
  void hide(const std::string& mount_point);

  std::vector<MountStep> take_steps() && { return std::move(steps_); }

 private:
  Result<std::string> add_place(PathKind kind);
  Result<std::string> put_on_stage(const std::string& source, PathKind kind);

  std::string place_;
  std::string mountinfo_;
  std::vector<MountStep> steps_;
  std::size_t shown_ = 0;
};

}  // namespace cloche::oci
