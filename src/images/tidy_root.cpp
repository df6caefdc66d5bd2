#include "images/tidy_root.hpp"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "backend/oci/files.hpp"

namespace cloche::images {

namespace fs = std::filesystem;

namespace {

constexpr uid_t sandbox_id = 1000;
constexpr std::string_view passwd_line = "sandbox:x:1000:1000:sandbox:/workspace:/bin/sh\n";
constexpr std::string_view group_line = "sandbox:x:1000:\n";

// Files that mmdebstrap copies from the build machine, and its settings.
constexpr const char* of_the_maker[] = {"/etc/resolv.conf", "/etc/hostname", "/etc/machine-id", "/etc/apt",
                                        "/etc/dpkg/dpkg.cfg.d/99mmdebstrap"};

// Not a link to one.
bool is_real_directory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

void expand(const std::string& directory, std::string_view rest, std::vector<std::string>& found) {
  const std::size_t slash = rest.find('/');
  const std::string part(rest.substr(0, slash));
  if (!is_real_directory(directory)) return;
  const auto names = oci::list_directory(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    if (::fnmatch(part.c_str(), name.c_str(), FNM_NOESCAPE) != 0) continue;
    const std::string path = directory + "/" + name;
    if (slash == rest.npos) {
      found.push_back(path);
    } else {
      expand(path, rest.substr(slash + 1), found);
    }
  }
}

Status append_line(const std::string& path, std::string_view line) {
  CLOCHE_TRY(std::string text, oci::read_file(path));
  if (text.starts_with("sandbox:") || text.find("\nsandbox:") != text.npos) return {};
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return oci::write_file(path, text.append(line), 0644);
}

Status add_work_directory(const std::string& path) {
  CLOCHE_CHECK(oci::make_directory(path, 0755));
  if (::chown(path.c_str(), sandbox_id, sandbox_id) != 0) return fail_errno("chown " + path);
  return {};
}

// Programs in a sandbox gain no rights whatever the bits say; an image without them is one thing less to trust.
Status take_rights_away(const std::string& root) {
  std::error_code error;
  fs::recursive_directory_iterator walk(root, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    const fs::file_status about = walk->symlink_status(error);
    if (error) break;
    const fs::perms gained = about.permissions() & (fs::perms::set_uid | fs::perms::set_gid);
    if (!fs::is_regular_file(about) || gained == fs::perms::none) continue;
    fs::permissions(walk->path(), gained, fs::perm_options::remove | fs::perm_options::nofollow, error);
    if (error == std::errc::operation_not_supported)
      fs::permissions(walk->path(), gained, fs::perm_options::remove, error);
  }
  if (error) return fail(errno_error("remove set-uid bits below " + root, error.value()));
  return {};
}

}  // namespace

std::vector<std::string> expand_pattern(const std::string& root, std::string_view pattern) {
  std::vector<std::string> found;
  if (pattern.starts_with('/')) expand(root, pattern.substr(1), found);
  return found;
}

Status tidy_root(const std::string& root, const std::vector<std::string>& dropped) {
  for (const std::string& pattern : dropped) {
    for (const std::string& path : expand_pattern(root, pattern)) CLOCHE_CHECK(oci::remove_tree(path));
  }
  for (const char* pattern : of_the_maker) {
    for (const std::string& path : expand_pattern(root, pattern)) CLOCHE_CHECK(oci::remove_tree(path));
  }
  for (const std::string& path : expand_pattern(root, "/dev/*")) CLOCHE_CHECK(oci::remove_tree(path));
  CLOCHE_CHECK(append_line(root + "/etc/passwd", passwd_line));
  CLOCHE_CHECK(append_line(root + "/etc/group", group_line));
  CLOCHE_CHECK(add_work_directory(root + "/workspace"));
  CLOCHE_CHECK(add_work_directory(root + "/app"));
  CLOCHE_CHECK(take_rights_away(root));
  if (::chmod(root.c_str(), 0755) != 0) return fail_errno("chmod " + root);
  return {};
}

}  // namespace cloche::images
