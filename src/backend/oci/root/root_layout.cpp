#include "backend/oci/root/root_layout.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "backend/oci/bundle.hpp"
#include "backend/oci/files.hpp"
#include "backend/oci/gvisor_stat.hpp"
#include "backend/oci/root/host_root.hpp"
#include "core/unique_fd.hpp"
#include "sandbox/volume_mount.hpp"

namespace cloche::oci {

namespace {

using Links = RootPlanner::Links;

bool is_below(std::string_view path, std::string_view place) {
  return path.size() > place.size() && path.starts_with(place) && path[place.size()] == '/';
}

// The runtime would make a mount point that is missing in the outer source, on the host.
Status check_nested(const SourcedMount& inner, const SourcedMount& outer) {
  const std::string inside = outer.mount.source + inner.mount.target.substr(outer.mount.target.size());
  struct stat about;
  if (outer.kind == PathKind::directory && ::stat(inside.c_str(), &about) == 0 &&
      S_ISDIR(about.st_mode) == (inner.kind == PathKind::directory)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument, "a mount at " + inner.mount.target + " requires that " + inside +
                                               " exists, because " + outer.mount.target + " is mounted too");
}

// Only the modes that a program sees matter: runc gives a tmpfs the mode of the directory it covers.
Status add_own_places(RootPlanner& root, const std::string& agent) {
  CLOCHE_CHECK(root.add_mount_point("/proc", PathKind::directory, 0555, Links::replace));
  CLOCHE_CHECK(root.add_mount_point("/dev", PathKind::directory, 0755, Links::replace));
  CLOCHE_CHECK(root.add_mount_point("/sys", PathKind::directory, 0555, Links::replace));  // stays empty
  CLOCHE_CHECK(root.add_mount_point("/run", PathKind::directory, 0755, Links::replace));  // stays empty
  CLOCHE_CHECK(root.add_mount_point("/tmp", PathKind::directory, 01777, Links::replace));
  CLOCHE_CHECK(root.add_mount_point(parent_of(std::string(agent_target)), PathKind::directory, 0755, Links::replace));
  return root.add_hard_link(std::string(agent_target), agent);
}

// The loader reads /etc/ld.so.preload before any program of its own C library; others do not know it. An image that has
// one of its own is left as it is.
Status help_with_stat(RootPlanner& root, const std::string& image_root) {
  if (!image_root.empty()) {
    if (path_exists(image_root + "/etc/ld.so.preload")) return {};
    // Copied, not mounted: it would have to be split for the new file, and a mount for each part is too expensive.
    CLOCHE_CHECK(root.add_copy("/etc", image_root + "/etc"));
  }
  const std::string library = parent_of(std::string(agent_target)) + "/stat.so";
  CLOCHE_CHECK(root.add_file(library, std::string(gvisor_stat_library()), 0755));
  return root.add_file("/etc/ld.so.preload", library + "\n");
}

// Questions to port 53 of the loopback arrive at the agent; see network/transparent_egress.hpp.
Status name_the_agent(RootPlanner& root, const std::string& image_root) {
  if (image_root.empty()) {
    CLOCHE_CHECK(root.add_file("/etc/nsswitch.conf",
                               "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\n"));
  } else {
    CLOCHE_CHECK(root.add_copy("/etc", image_root + "/etc"));  // as in help_with_stat
  }
  return root.add_file("/etc/resolv.conf", "nameserver 127.0.0.1\n");
}

// The search path for programs of a sandbox, in this order; see ExecSpec.
constexpr std::array program_places = {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/",
                                       "/usr/bin/",        "/sbin/",          "/bin/"};
constexpr const char* own_place = "/.cloche/bin/";

// A program that is called by a name its root does not have.
struct OtherName {
  const char* name;
  const char* program;
};
constexpr OtherName other_names[] = {{"python", "python3"}};

// Links on the way, absolute ones too, are those of the image and lead to places in it.
bool is_in(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const UniqueFd found(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  return static_cast<bool>(found);
}

// Empty: nowhere.
std::string place_of(int root, const std::string& program) {
  for (const char* place : program_places) {
    if (is_in(root, place + program)) return place + program;
  }
  return {};
}

// Adds a directory of links, the last one in the PATH of programs. A name that the root itself has in any directory of
// the search path is left alone. `image_root` is the root's directory on the host; `/` for the host's own programs.
Status add_other_names(RootPlanner& root, const std::string& image_root) {
  const UniqueFd directory(::open(image_root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno("open " + image_root);
  CLOCHE_CHECK(root.add_directory("/.cloche/bin"));
  for (const auto& [name, program] : other_names) {
    const std::string there = place_of(directory.get(), program);
    if (there.empty() || !place_of(directory.get(), name).empty()) continue;
    CLOCHE_CHECK(root.add_link(own_place + std::string(name), there));
  }
  return {};
}

}  // namespace

Result<std::vector<SourcedMount>> look_at_mounts(const std::vector<Mount>& mounts) {
  std::vector<SourcedMount> sourced;
  for (const Mount& mount : mounts) {
    struct stat about;
    if (::stat(mount.source.c_str(), &about) != 0) {
      if (errno == ENOENT || errno == ENOTDIR)
        return fail(ErrorCode::not_found, "mount " + mount.source + ": no such file or directory");
      return fail_errno("mount " + mount.source);
    }
    if (!S_ISDIR(about.st_mode) && !S_ISREG(about.st_mode)) {
      return fail(ErrorCode::invalid_argument, "mount " + mount.source + ": neither a file nor a directory");
    }
    sourced.push_back({mount, S_ISDIR(about.st_mode) ? PathKind::directory : PathKind::file});
  }
  std::ranges::sort(sourced, {}, [](const SourcedMount& each) { return each.mount.target; });
  for (std::size_t i = 0; i < sourced.size(); ++i) {
    for (std::size_t outer = 0; outer < i; ++outer) {
      if (sourced[outer].mount.target == sourced[i].mount.target) {
        return fail(ErrorCode::invalid_argument, "more than one mount at " + sourced[i].mount.target);
      }
      if (is_below(sourced[i].mount.target, sourced[outer].mount.target))
        CLOCHE_CHECK(check_nested(sourced[i], sourced[outer]));
    }
  }
  return sourced;
}

Result<RootPlan> plan_root(const SandboxSpec& spec, const std::string& image_root, const std::string& agent,
                           const std::vector<SourcedMount>& mounts, Help help, Names names) {
  const HostRootUser user = {uid_of(spec), spec.gid, home_of(spec), spec.hostname};
  CLOCHE_TRY(RootPlanner root, image_root.empty() ? plan_host_root(user) : plan_image_root(image_root));
  const bool has_var_tmp = !image_root.empty() && path_exists(image_root + "/var/tmp");
  if (!has_var_tmp) CLOCHE_CHECK(root.add_link("/var/tmp", "/tmp"));
  CLOCHE_CHECK(add_own_places(root, agent));
  if (!root.has(volumes_directory)) CLOCHE_CHECK(root.add_directory(volumes_directory));
  CLOCHE_CHECK(add_other_names(root, image_root.empty() ? "/" : image_root));
  if (help == Help::with_stat) CLOCHE_CHECK(help_with_stat(root, image_root));
  if (names == Names::answered_by_agent) CLOCHE_CHECK(name_the_agent(root, image_root));
  // The runtime creates what is inside an in-memory file system.
  if (!is_below(spec.work_dir, "/tmp")) {
    CLOCHE_CHECK(root.add_mount_point(spec.work_dir, PathKind::directory, 0755, Links::refuse));
  }
  if (const std::string home = home_of(spec); home != spec.work_dir) {
    CLOCHE_CHECK(root.add_mount_point(home, PathKind::directory, 0755, Links::replace));
  }
  for (const SourcedMount& each : mounts) {
    const std::string& target = each.mount.target;
    const bool is_inside_another =
        std::ranges::any_of(mounts, [&](const SourcedMount& outer) { return is_below(target, outer.mount.target); });
    // One inside the work directory too: gVisor's file server sees the skeleton there, not the file system in memory.
    if (!is_inside_another) CLOCHE_CHECK(root.add_mount_point(target, each.kind, 0755, Links::refuse));
  }
  return root.plan();
}

}  // namespace cloche::oci
