// What is mounted for a runtime alone, in a mount namespace that ends with it, so that the host never sees a mount.
//
// crun refuses a host whose v2 hierarchy holds a controller beside v1, even when told to leave cgroups alone: the v2
// mount is hidden from it. Root in a sandbox is nobody on the host, so it cannot walk through a directory closed to
// others: a source below one is shown at a place that can be reached. And a runtime that is root in a user namespace
// only cannot make a mount read-only without naming all other restrictions it has, which runsc does not do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/oci/root_plan.hpp"
#include "core/result.hpp"
#include "sandbox/spec.hpp"

namespace cloche::oci {

struct MountStep {
  enum class Kind {
    detach,          // take away what is mounted at target
    tmpfs,           // an empty one at target
    make_directory,  // target
    make_file,       // target
    bind,            // source with all that is mounted below, at target
    protect,         // target and all below: read-only
    free,            // target: without nosuid, nodev and noexec
  };
  Kind kind = Kind::bind;
  std::string source;
  std::string target;
};

// True when anybody may walk to the path: each directory above it is open to others.
Result<bool> is_reachable_by_all(const std::string& path);
// True when something is mounted below the path. A read-only bind mount would not cover that.
bool has_mounts_below(std::string_view mountinfo, const std::string& path);

// True when the file system that the path is on is mounted noexec. A bind mount of it must be so too.
Result<bool> is_noexec(const std::string& path);

// Decides for each source whether it can be used as it is, and collects the steps for those that cannot.
class Stage {
 public:
  // `place`: an empty directory that anybody may walk to.
  Stage(std::string place, std::string mountinfo);

  // The path under which the runtime finds the source.
  Result<std::string> show(const std::string& source, PathKind kind, Access access);
  // The same for the root skeleton, from which the agent must be executable.
  Result<std::string> show_root(const std::string& skeleton);
  void hide(const std::string& mount_point);

  std::vector<MountStep> take_steps() && { return std::move(steps_); }

 private:
  Result<std::string> put_on_stage(const std::string& source, PathKind kind);

  std::string place_;
  std::string mountinfo_;
  std::vector<MountStep> steps_;
  std::size_t shown_ = 0;
};

}  // namespace cloche::oci
