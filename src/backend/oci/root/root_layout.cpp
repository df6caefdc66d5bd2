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
#include "core/user_lines.hpp"
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
  CLOCHE_CHECK(root.add_mount_point("/run", PathKind::directory, 0755, Links::replace));  // empty without root
  CLOCHE_CHECK(root.add_mount_point("/tmp", PathKind::directory, 01777, Links::replace));
  CLOCHE_CHECK(root.add_mount_point(parent_of(std::string(agent_target)), PathKind::directory, 0755, Links::replace));
  return root.add_hard_link(std::string(agent_target), agent);
}

// The root's /etc, to which files can be added. That of an image is copied once, not mounted: it would have to be split
// for each new file, and a mount for each part is too expensive.
class OwnEtc {
 public:
  OwnEtc(RootPlanner& root, const std::string& image_root) : root_(root), image_root_(image_root) {}

  Status add(const std::string& path, std::string content) {
    if (!is_copied_ && !image_root_.empty()) CLOCHE_CHECK(root_.add_copy("/etc", image_root_ + "/etc"));
    is_copied_ = true;
    return root_.add_file(path, std::move(content));
  }

 private:
  RootPlanner& root_;
  const std::string& image_root_;
  bool is_copied_ = false;
};

// The loader reads /etc/ld.so.preload before any program of its own C library; others do not know it. An image that has
// one of its own is left as it is.
Status help_with_stat(RootPlanner& root, OwnEtc& etc, const std::string& image_root) {
  if (!image_root.empty() && path_exists(image_root + "/etc/ld.so.preload")) return {};
  const std::string library = parent_of(std::string(agent_target)) + "/stat.so";
  CLOCHE_CHECK(root.add_file(library, std::string(gvisor_stat_library()), 0755));
  return etc.add("/etc/ld.so.preload", library + "\n");
}

// Questions to port 53 of the loopback arrive at the agent; see network/transparent_egress.hpp.
Status name_the_agent(OwnEtc& etc, const std::string& image_root) {
  if (image_root.empty()) {
    CLOCHE_CHECK(etc.add("/etc/nsswitch.conf",
                         "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\n"));
  }
  return etc.add("/etc/resolv.conf", "nameserver 127.0.0.1\n");
}

// A small file of an image. Links on the way lead to places of the image.
Result<std::string> read_of_image(const std::string& image_root, const char* path) {
  const UniqueFd root(::open(image_root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const UniqueFd file(static_cast<int>(::syscall(SYS_openat2, root.get(), path, &how, sizeof how)));
  if (!file) return fail_errno(path);
  return read_file("/proc/self/fd/" + std::to_string(file.get()), mib(1));
}

// A line for the sandbox's user where the image has none. An /etc/passwd that is not a file is left as it is.
Status name_the_user(OwnEtc& etc, const SandboxSpec& spec, const std::string& image_root) {
  CLOCHE_TRY(const SandboxUser user, find_user(spec, {}));
  const auto passwd = read_of_image(image_root, "etc/passwd");
  if (!passwd && passwd.error().code != ErrorCode::not_found) return {};
  if (passwd && knows_user(*passwd, user)) return {};
  CLOCHE_CHECK(etc.add("/etc/passwd", with_passwd_line(passwd.value_or("root:x:0:0:root:/root:/bin/sh\n"), user)));
  const auto group = read_of_image(image_root, "etc/group");
  if (!group && group.error().code != ErrorCode::not_found) return {};
  return etc.add("/etc/group", with_group_line(group.value_or("root:x:0:\n"), user));
}

// Where root is allowed: its home, and `sudo` also for shells whose /etc/profile sets the PATH anew.
Status prepare_for_root(RootPlanner& root, OwnEtc& etc, const std::string& image_root) {
  CLOCHE_CHECK(root.add_mount_point(std::string(root_home), PathKind::directory, 0700, Links::replace));
  if (image_root.empty() || !path_exists(image_root + "/etc/profile.d")) return {};
  return etc.add("/etc/profile.d/cloche.sh",
                 "case \":$PATH:\" in *:/.cloche/bin:*) ;; *) PATH=\"$PATH:/.cloche/bin\" ;; esac\n");
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
  CLOCHE_TRY(SandboxUser own_user, find_user(spec, {}));
  const HostRootUser user{std::move(own_user), spec.hostname, spec.root ? std::string(root_home) : "/"};
  CLOCHE_TRY(RootPlanner root, image_root.empty() ? plan_host_root(user) : plan_image_root(image_root));
  const bool has_var_tmp = !image_root.empty() && path_exists(image_root + "/var/tmp");
  if (!has_var_tmp) CLOCHE_CHECK(root.add_link("/var/tmp", "/tmp"));
  CLOCHE_CHECK(add_own_places(root, agent));
  if (!root.has(volumes_directory)) CLOCHE_CHECK(root.add_directory(volumes_directory));
  CLOCHE_CHECK(add_other_names(root, image_root.empty() ? "/" : image_root));
  OwnEtc etc(root, image_root);
  if (!image_root.empty()) CLOCHE_CHECK(name_the_user(etc, spec, image_root));
  if (spec.root) CLOCHE_CHECK(prepare_for_root(root, etc, image_root));
  CLOCHE_CHECK(root.add_hard_link(std::string(own_place) + "sudo", agent));
  if (help == Help::with_stat) CLOCHE_CHECK(help_with_stat(root, etc, image_root));
  if (names == Names::answered_by_agent) CLOCHE_CHECK(name_the_agent(etc, image_root));
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

std::string place_of_program(const std::string& image_root, const std::string& program) {
  const UniqueFd directory(::open(image_root.empty() ? "/" : image_root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return directory ? place_of(directory.get(), program) : std::string();
}

}  // namespace cloche::oci
