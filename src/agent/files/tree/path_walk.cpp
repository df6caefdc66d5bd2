#include "agent/files/tree/path_walk.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <vector>

namespace cloche::agent {

namespace {

constexpr int look = O_PATH | O_NOFOLLOW | O_CLOEXEC;

class PathWalk {
 public:
  PathWalk(int base, Links links) : base_(base), links_(links) {}

  std::expected<UniqueFd, int> open(std::string_view path, int flags) {
    if (const int number = start(); number != 0) return std::unexpected(number);
    push(path);
    while (!pending_.empty()) {
      const std::string name = std::move(pending_.back());
      pending_.pop_back();
      if (name == ".") continue;
      if (name == "..") {
        if (const int number = go_up(); number != 0) return std::unexpected(number);
        continue;
      }
      auto opened = step(name, flags);
      if (!opened) return opened;
      if (*opened) return opened;
    }
    // The path ended in a slash, in a dot or in `..`, or was empty.
    UniqueFd fd(::openat(here_.get(), ".", (flags & ~O_NOFOLLOW) | O_CLOEXEC));
    if (!fd) return std::unexpected(errno);
    return fd;
  }

 private:
  // One component. Returns the requested descriptor if it was the last one, or an empty one to continue the walk.
  std::expected<UniqueFd, int> step(const std::string& name, int flags) {
    const bool last = pending_.empty();
    UniqueFd seen(::openat(here_.get(), name.c_str(), look));
    struct stat status = {};
    if (!seen || ::fstat(seen.get(), &status) != 0) return std::unexpected(errno);
    if (S_ISLNK(status.st_mode) && !(last && (flags & O_NOFOLLOW) != 0)) {
      if (const int number = follow(name); number != 0) return std::unexpected(number);
      return UniqueFd();
    }
    if (last) return open_last(name, std::move(seen), status.st_mode, flags);
    if (!S_ISDIR(status.st_mode)) return std::unexpected(ENOTDIR);
    here_ = std::move(seen);
    trail_.push_back(name);
    return UniqueFd();
  }

  std::expected<UniqueFd, int> open_last(const std::string& name, UniqueFd seen, mode_t mode, int flags) {
    if ((flags & O_DIRECTORY) != 0 && !S_ISDIR(mode)) return std::unexpected(ENOTDIR);
    if ((flags & O_PATH) != 0) return seen;
    // Never O_DIRECTORY with O_NOFOLLOW: gVisor follows links then.
    UniqueFd fd(::openat(here_.get(), name.c_str(), (flags & ~O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return std::unexpected(errno);
    struct stat status = {};
    if (::fstat(fd.get(), &status) != 0) return std::unexpected(errno);
    if ((flags & O_DIRECTORY) != 0 && !S_ISDIR(status.st_mode)) return std::unexpected(ENOTDIR);
    return fd;
  }

  int follow(const std::string& name) {
    if (++followed_ > most_links || is_procfs(here_.get())) return ELOOP;
    auto target = read_link(here_.get(), name.c_str());
    // No longer a link: it was swapped while we looked, so look again.
    if (!target && target.error() == EINVAL) target = name;
    if (!target) return target.error();
    if (target->starts_with('/')) {
      if (links_ == Links::beneath) return EXDEV;
      trail_.clear();
      if (const int number = start(); number != 0) return number;
    }
    push(*target);
    return 0;
  }

  int go_up() {
    if (trail_.empty()) return links_ == Links::beneath ? EXDEV : 0;
    trail_.pop_back();
    if (const int number = start(); number != 0) return number;
    for (const std::string& name : trail_) {
      UniqueFd next(::openat(here_.get(), name.c_str(), look));
      struct stat status = {};
      if (!next || ::fstat(next.get(), &status) != 0) return errno;
      if (!S_ISDIR(status.st_mode)) return ENOTDIR;
      here_ = std::move(next);
    }
    return 0;
  }

  int start() {
    here_.reset(::openat(base_, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return here_ ? 0 : errno;
  }

  // Puts the components on top of those that wait. A slash at the end becomes a dot: what is before it must be a
  // directory.
  void push(std::string_view path) {
    std::vector<std::string> components;
    while (!path.empty()) {
      const auto slash = path.find('/');
      if (slash != 0) components.emplace_back(path.substr(0, slash));
      if (slash == std::string_view::npos) break;
      path.remove_prefix(slash + 1);
      if (path.empty()) components.emplace_back(".");
    }
    std::move(components.rbegin(), components.rend(), std::back_inserter(pending_));
  }

  int base_;
  Links links_;
  UniqueFd here_;
  std::vector<std::string> trail_;    // real directories from the base to here
  std::vector<std::string> pending_;  // components to come, the next one last
  int followed_ = 0;
};

}  // namespace

std::expected<UniqueFd, int> walk_path(int base, Links links, std::string_view path, int flags) {
  return PathWalk(base, links).open(path, flags);
}

bool is_procfs(int directory) {
  struct statfs status = {};
  return ::fstatfs(directory, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

}  // namespace cloche::agent
