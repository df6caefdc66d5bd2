#include "agent/reset/writable_places.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "agent/identity.hpp"
#include "agent/link/descriptors.hpp"
#include "agent/reset/ipc_objects.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

// mountinfo writes space, tab, newline and backslash as octal escapes.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3') {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool has_option(std::string_view options, std::string_view option) {
  const auto parts = split(options, ',');
  return std::ranges::find(parts, option) != parts.end();
}

bool is_at_or_below(std::string_view path, std::string_view place) {
  return path == place || (path.starts_with(place) && path[place.size()] == '/');
}

std::string read_whole(const char* path) {
  std::string text;
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  char buffer[8192];
  for (ssize_t n = 0; fd && (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

// Never O_DIRECTORY with O_NOFOLLOW: gVisor follows links then.
UniqueFd open_directory(int parent, const char* name) {
  UniqueFd fd(::openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about{};
  if (fd && (::fstat(fd.get(), &about) != 0 || !S_ISDIR(about.st_mode))) fd.reset();
  return fd;
}

// Empties one directory without recursion, however deep the tree: a sub-directory's own sub-directories are moved into
// one directory, until every directory is flat. That is not the top itself, which would stay as large as it has once
// been on some file systems.
class Emptier {
 public:
  Emptier(int top, dev_t device)
      : top_(top), device_(device), heap_name_(".cloche-wipe-" + std::to_string(::getpid())) {}

  std::uint64_t run() {
    while (pass()) {
    }
    if (heap_) ::unlinkat(top_, heap_name_.c_str(), AT_REMOVEDIR);
    return removed_;
  }

 private:
  // True when something changed, so that another look is worth it.
  bool pass() {
    const std::uint64_t before = removed_ + moved_;
    remove_entries(top_);
    if (heap_) remove_entries(heap_.get());
    return removed_ + moved_ != before;
  }

  void remove_entries(int directory) {
    for_each_entry(directory, [this, directory](const char* name) {
      if (directory == top_ && heap_ && name == heap_name_) return;
      if (::unlinkat(directory, name, 0) == 0 || ::unlinkat(directory, name, AT_REMOVEDIR) == 0) {
        ++removed_;
      } else {
        flatten(directory, name);
      }
    });
  }

  // Where directories are moved to: the top if a full file system has no room for another one.
  int heap() {
    if (!heap_ && ::mkdirat(top_, heap_name_.c_str(), 0777) == 0) {
      ::fchmodat(top_, heap_name_.c_str(), 0777, 0);
      heap_ = open_directory(top_, heap_name_.c_str());
    }
    return heap_ ? heap_.get() : top_;
  }

  void flatten(int parent, const char* name) {
    struct stat about{};
    if (::fstatat(parent, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(about.st_mode)) return;
    if (about.st_dev != device_) return;  // another mount
    // No other process is alive that could put a link here between the check and the change. It is open to all users:
    // files of another user in it are removed by that user.
    if ((about.st_mode & 01777) != 0777) ::fchmodat(parent, name, 0777, 0);
    const UniqueFd dir = open_directory(parent, name);
    if (!dir) return;
    for_each_entry(dir.get(), [&](const char* child) {
      if (::unlinkat(dir.get(), child, 0) == 0 || ::unlinkat(dir.get(), child, AT_REMOVEDIR) == 0) {
        ++removed_;
        return;
      }
      char fresh[48];
      std::snprintf(fresh, sizeof fresh, ".cloche-wiped-%d-%llu", ::getpid(), static_cast<unsigned long long>(moved_));
      struct stat child_about{};
      if (::fstatat(dir.get(), child, &child_about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(child_about.st_mode)) return;
      ::fchmodat(dir.get(), child, 0777, 0);  // a directory is renamed only by who may write to it
      if (::renameat(dir.get(), child, heap(), fresh) == 0) ++moved_;
    });
    if (::unlinkat(parent, name, AT_REMOVEDIR) == 0) ++removed_;
  }

  template <class Visit>
  static void for_each_entry(int directory, Visit visit) {
    const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0) return;
    DIR* entries = ::fdopendir(copy);
    if (entries == nullptr) {
      ::close(copy);
      return;
    }
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(entries)) {
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
        names.emplace_back(entry->d_name);
    }
    ::closedir(entries);
    for (const auto& name : names) visit(name.c_str());
  }

  int top_;
  dev_t device_;
  std::string heap_name_;
  UniqueFd heap_;
  std::uint64_t removed_ = 0;
  std::uint64_t moved_ = 0;
};

// Attributes of a directory that its owner can set.
constexpr mode_t place_mode = 0755;
// Flags of an inode that its owner may set.
constexpr int users_flags = FS_NODUMP_FL | FS_NOATIME_FL | FS_SYNC_FL | FS_DIRSYNC_FL | FS_SECRM_FL | FS_UNRM_FL |
                            FS_COMPR_FL | FS_TOPDIR_FL | FS_NOTAIL_FL | FS_JOURNAL_DATA_FL | FS_PROJINHERIT_FL;
// Of an empty directory on a disk. It does not shrink when files in it are removed.
constexpr off_t size_of_empty = 4096;

// On a kernel that has SELinux but no policy, a file's owner can set its label and remove it. With a policy every file
// has a label, and it cannot be removed.
bool is_label(std::string_view attribute) { return attribute.starts_with("security."); }

// Extended attributes that the user could have set.
std::vector<std::string> users_attributes(const std::string& place) {
  std::string names(64 * 1024, '\0');
  const ssize_t size = ::listxattr(place.c_str(), names.data(), names.size());
  if (size <= 0) return {};
  std::vector<std::string> found;
  for (const auto name : split(std::string_view(names).substr(0, static_cast<std::size_t>(size)), '\0')) {
    const bool is_users = name.starts_with("user.") || name.starts_with("system.posix_acl_");
    if (is_users || is_label(name)) found.emplace_back(name);
  }
  return found;
}

std::optional<int> flags_of(int fd) {
  int flags = 0;
  if (::ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) return std::nullopt;
  return flags;
}

void clear_place(const std::string& place, int fd, bool is_owner) {
  for (const auto& name : users_attributes(place)) ::removexattr(place.c_str(), name.c_str());
  if (!is_owner) return;
  if (auto flags = flags_of(fd); flags && (*flags & users_flags) != 0) {
    *flags &= ~users_flags;
    ::ioctl(fd, FS_IOC_SETFLAGS, &*flags);
  }
  ::fchmod(fd, place_mode);  // again, because an access list may have changed it
  ::futimens(fd, nullptr);
}

std::uint64_t empty_place(const std::string& place) {
  if (!is_place_of_user(place)) return 0;
  struct stat about{};
  if (::stat(place.c_str(), &about) != 0) return 0;
  const bool is_owner = about.st_uid == ::geteuid();
  // Its owner may have taken its own rights away.
  if (is_owner) ::chmod(place.c_str(), place_mode);
  const UniqueFd top = open_directory(AT_FDCWD, place.c_str());
  if (!top) return 0;
  const std::uint64_t removed = Emptier(top.get(), about.st_dev).run();
  clear_place(place, top.get(), is_owner);
  return removed;
}

}  // namespace

std::vector<MountPoint> parse_mountinfo(std::string_view text) {
  std::vector<MountPoint> mounts;
  for (const auto line : split(text, '\n')) {
    const auto fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, std::string_view("-"));
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    mounts.push_back({.path = unescape(fields[4]),
                      .type = std::string(dash[1]),
                      .read_only = has_option(fields[5], "ro") || has_option(dash[3], "ro")});
  }
  return mounts;
}

std::vector<std::string> writable_places(const std::vector<MountPoint>& mounts, const std::vector<std::string>& keep) {
  static constexpr std::array kernel_types = {"proc", "sysfs", "devpts", "cgroup", "cgroup2", "securityfs"};
  std::vector<std::string> places;
  for (const MountPoint& mount : mounts) {
    if (mount.read_only || mount.path == "/" || std::ranges::find(kernel_types, mount.type) != kernel_types.end())
      continue;
    if (is_at_or_below(mount.path, "/proc") || is_at_or_below(mount.path, "/sys")) continue;
    if (std::ranges::any_of(keep, [&](const auto& kept) { return is_at_or_below(mount.path, kept); })) continue;
    places.push_back(mount.path);
  }
  return places;
}

bool is_place_of_user(const std::string& place) {
  struct stat about{};
  if (::stat(place.c_str(), &about) == 0 && about.st_uid == ::geteuid()) return true;
  return ::faccessat(AT_FDCWD, place.c_str(), W_OK, AT_EACCESS) == 0;
}

std::vector<std::string> marks_on_place(const std::string& place) {
  std::vector<std::string> found;
  for (const auto& name : users_attributes(place)) {
    const bool is_the_hosts = is_label(name) && ::removexattr(place.c_str(), name.c_str()) != 0;
    if (!is_the_hosts) found.emplace_back("attribute ").append(name).append(" of ").append(place);
  }
  struct stat about{};
  if (::stat(place.c_str(), &about) != 0) return {"unreadable " + place};
  if (about.st_uid != ::geteuid()) return found;
  if ((about.st_mode & 07777) != place_mode) found.push_back("mode of " + place);
  if (about.st_size > size_of_empty) found.push_back("size of " + place);
  const UniqueFd fd = open_directory(AT_FDCWD, place.c_str());
  if (const auto flags = flags_of(fd.get()); flags && (*flags & users_flags) != 0) found.push_back("flags of " + place);
  return found;
}

std::vector<std::string> writable_places_here(const std::vector<std::string>& keep) {
  auto places = writable_places(parse_mountinfo(read_whole("/proc/self/mountinfo")), keep);
  // Devices are mounted one by one; nothing can be left in them.
  std::erase_if(places, [](const std::string& place) {
    struct stat about{};
    return ::stat(place.c_str(), &about) == 0 && (S_ISCHR(about.st_mode) || S_ISBLK(about.st_mode));
  });
  return places;
}

std::uint64_t wipe_as(uid_t uid, gid_t gid, const std::vector<std::string>& keep) {
  const auto places = writable_places_here(keep);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return 0;
  const UniqueFd read_end(report[0]);
  UniqueFd write_end(report[1]);
  const pid_t child = ::fork();
  if (child < 0) return 0;
  if (child == 0) {
    close_all_but({2, report[1]});
    std::uint64_t removed = 0;
    if (take_user_ids(uid, gid)) {
      for (const auto& place : places) removed += empty_place(place);
      removed += remove_ipc_objects();
    }
    [[maybe_unused]] const ssize_t n = ::write(report[1], &removed, sizeof removed);
    ::_exit(0);
  }
  write_end.reset();
  std::uint64_t removed = 0;
  if (::read(read_end.get(), &removed, sizeof removed) != sizeof removed) removed = 0;
  ::waitpid(child, nullptr, 0);
  return removed;
}

}  // namespace cloche::agent
