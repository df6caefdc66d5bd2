#include "agent/files/watch/watched_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/files/cancel.hpp"
#include "agent/files/operations/pending_file.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

using Kind = wire::WatchEvent::Kind;

constexpr std::size_t default_directories = 8192;
constexpr std::size_t most_told = 10'000;
constexpr std::size_t most_queued = 4096;
constexpr std::uint32_t directory_mask = IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |
                                         IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK;

std::string joined(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : directory + "/" + std::string(name);
}

// The kernel says `#` and a number for a file that has no name yet.
bool is_name_of_unnamed(std::string_view name) {
  return name.size() > 1 && name.front() == '#' && name.find_first_not_of("0123456789", 1) == name.npos;
}

// The kernel names too little memory and too many watches alike.
bool is_exhausted(int number) { return number == ENOSPC || number == ENOMEM || number == EMFILE; }

Error gone() { return {ErrorCode::not_found, "the directory was removed or moved"}; }

}  // namespace

WatchedTree::WatchedTree(const wire::FileRequest& request, const Base& base, const CheckedPath& top, UniqueFd inotify,
                         WatchOutput& output)
    : recursive_(request.recursive),
      most_(request.max_entries == 0 ? default_directories : static_cast<std::size_t>(request.max_entries)),
      mounts_(mounts_of(request)),
      base_(base),
      top_(top),
      inotify_(std::move(inotify)),
      output_(output) {}

Result<WatchedTree> WatchedTree::arm(const wire::FileRequest& request, const Base& base, const CheckedPath& top,
                                     WatchOutput& output) {
  CLOCHE_TRY(UniqueFd directory, base.open(top, open_reading | O_DIRECTORY));
  struct stat about = {};
  if (::fstat(directory.get(), &about) != 0) return fail_file(errno);
  UniqueFd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify && is_exhausted(errno)) return fail(ErrorCode::limit_reached, "too many watches in this sandbox");
  if (!inotify) return fail(ErrorCode::unsupported, "the sandbox's kernel has no inotify");
  WatchedTree tree(request, base, top, std::move(inotify), output);
  tree.has_unnamed_files_ = has_unnamed_files(directory.get());
  tree.device_ = about.st_dev;
  tree.inode_ = about.st_ino;
  const int error = tree.watch(directory.get(), {});
  if (is_exhausted(error)) return fail(ErrorCode::limit_reached, "too many watched directories in this sandbox");
  if (error != 0) return fail_file(error);
  if (request.recursive) CLOCHE_CHECK(tree.watch_below(std::move(directory), {}, Tell::nothing));
  return tree;
}

UniqueFd WatchedTree::open(const std::string& path, int flags) const {
  const auto top = base_.open(top_, O_PATH | O_DIRECTORY);
  struct stat about = {};
  errno = ENOENT;
  if (!top || ::fstat(top->get(), &about) != 0 || about.st_dev != device_ || about.st_ino != inode_) return {};
  auto found = resolve(top->get(), Links::beneath, path, flags);
  if (found) return std::move(*found);
  errno = found.error();
  return {};
}

int WatchedTree::watch(int directory, const std::string& path) {
  const std::string self = "/proc/self/fd/" + std::to_string(directory);
  const int watch = ::inotify_add_watch(inotify_.get(), self.c_str(), directory_mask);
  if (watch < 0) return errno;
  // One that was watched under another name has been moved here.
  if (const auto before = paths_.find(watch); before != paths_.end()) watches_.erase(before->second);
  paths_[watch] = path;
  watches_[path] = watch;
  return 0;
}

Status WatchedTree::watch_below(UniqueFd directory, const std::string& path, Tell tell) {
  const auto visit = [&](const Found& found) -> Result<WalkStep> {
    const std::string name = joined(path, found.path);
    if (is_temporary_name(found.name)) return WalkStep::pass;
    if (tell == Tell::created) tell_created(found.parent, found.name, name);
    if (found.type != DT_DIR) return WalkStep::pass;
    const UniqueFd below(::openat(found.parent, found.name, open_reading | O_DIRECTORY | O_NOFOLLOW));
    if (!below) return WalkStep::pass;
    if (watches_.size() >= most_) {
      tell_incomplete(name);
      return WalkStep::stop;
    }
    const int error = watch(below.get(), name);
    if (is_exhausted(error)) {
      tell_incomplete(name);
      return WalkStep::stop;
    }
    return error == 0 ? WalkStep::descend : WalkStep::pass;
  };
  auto walked = walk_tree(std::move(directory), {.mounts = mounts_}, visit);
  if (!walked && walked.error().code == ErrorCode::cancelled) return fail(std::move(walked).error());
  // A tree that is changed while it is read, or that is too large: its events tell the rest, or it is incomplete.
  if (!walked || walked->cut) tell_incomplete(path);
  return {};
}

void WatchedTree::watch_new(const std::string& path) {
  if (!recursive_) return;
  UniqueFd directory = open(path, open_reading | O_DIRECTORY | O_NOFOLLOW);
  if (!directory) return;
  const int error = watches_.size() >= most_ ? ENOSPC : watch(directory.get(), path);
  if (is_exhausted(error)) tell_incomplete(path);
  if (error != 0) return;
  [[maybe_unused]] const Status all = watch_below(std::move(directory), path, Tell::created);
}

void WatchedTree::forget(const std::string& path) {
  const auto drop = [this](auto at) {
    ::inotify_rm_watch(inotify_.get(), at->second);
    paths_.erase(at->second);
    return watches_.erase(at);
  };
  if (const auto at = watches_.find(path); at != watches_.end()) drop(at);
  const std::string below = path + "/";
  for (auto at = watches_.lower_bound(below); at != watches_.end() && at->first.starts_with(below);) at = drop(at);
}

void WatchedTree::tell_created(int parent, const char* name, const std::string& path) {
  output_.add(Kind::created, path);
  if (told_.size() < most_told) told_.insert(path);
  // What appears with its content has no event of its own for that.
  struct stat about = {};
  if (::fstatat(parent, name, &about, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (S_ISREG(about.st_mode) && about.st_size > 0 && about.st_nlink == 1) output_.add(Kind::written, path);
}

void WatchedTree::tell_incomplete(const std::string& path) {
  if (!std::exchange(told_incomplete_, true)) output_.add(Kind::overflow, path);
}

bool WatchedTree::read_events() {
  alignas(inotify_event) char buffer[16 * 1024];
  ssize_t size = 0;
  do {
    size = ::read(inotify_.get(), buffer, sizeof buffer);
  } while (size < 0 && errno == EINTR);
  for (const char* at = buffer; size > 0 && at < buffer + size;) {
    inotify_event event;
    std::memcpy(&event, at, sizeof event);
    const char* name = at + sizeof event;
    queue_.push_back({event.wd, event.mask, event.cookie, std::string(name, ::strnlen(name, event.len))});
    at = name + event.len;
  }
  return size > 0;
}

Status WatchedTree::take_events() {
  while (!output_.is_full() && !cancelled()) {
    if (queue_.empty() && !read_events()) {
      told_.clear();
      return {};
    }
    const Change next = std::move(queue_.front());
    queue_.pop_front();
    CLOCHE_CHECK(take(next));
  }
  return {};
}

bool WatchedTree::has_write_ahead(const Change& created) const {
  for (const Change& each : queue_) {
    if (each.watch != created.watch || each.name != created.name) continue;
    if ((each.mask & IN_MODIFY) != 0) return true;
    if ((each.mask & (IN_DELETE | IN_MOVED_FROM)) != 0) return false;
  }
  return false;
}

// A file that a program has made and written to has an event of its own for that, which may be on its way.
bool WatchedTree::appeared_with_content(const Change& created, const std::string& path) {
  if (has_write_ahead(created)) return false;
  const UniqueFd file = open(path, O_PATH | O_NOFOLLOW);
  struct stat about = {};
  if (!file || ::fstat(file.get(), &about) != 0) return false;
  if (!S_ISREG(about.st_mode) || about.st_size == 0 || about.st_nlink != 1) return false;
  if (queue_.size() < most_queued) read_events();
  return !has_write_ahead(created);
}

Status WatchedTree::take(const Change& change) {
  if ((change.mask & IN_Q_OVERFLOW) != 0) {
    output_.add(Kind::overflow, {});
    if (!recursive_) return {};
    // Directories may be among what was lost.
    UniqueFd directory = open({}, open_reading | O_DIRECTORY);
    return directory ? watch_below(std::move(directory), {}, Tell::nothing) : Status{};
  }
  const auto found = paths_.find(change.watch);
  if (found == paths_.end()) return {};  // of a directory that has been forgotten
  const std::string directory = found->second;
  if (directory.empty() && (change.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0) {
    return fail(gone());
  }
  if ((change.mask & IN_IGNORED) != 0) {
    watches_.erase(directory);
    paths_.erase(found);
    return {};
  }
  if (!change.name.empty()) {
    take_named(change, directory);
  } else if ((change.mask & IN_ATTRIB) != 0) {
    check_access(directory);
  }
  return {};
}

void WatchedTree::take_named(const Change& change, const std::string& directory) {
  const std::uint32_t mask = change.mask;
  const std::uint32_t cookie = change.cookie;
  const std::string& name = change.name;
  // What is written whole appears by a move from a temporary name, which nobody is told of.
  if (is_temporary_name(name)) {
    if ((mask & IN_MOVED_FROM) != 0) replaced_by_ = cookie;
    return;
  }
  const std::string path = joined(directory, name);
  const bool is_directory = (mask & IN_ISDIR) != 0;
  if ((mask & IN_CREATE) != 0 || (mask & IN_MOVED_TO) != 0) {
    const bool replaces = (mask & IN_MOVED_TO) != 0 && cookie != 0 && cookie == replaced_by_;
    if (replaces && has_unnamed_files_) return output_.add(Kind::written, path);
    if (told_.erase(path) > 0) return;
    if ((mask & IN_CREATE) != 0 && !is_directory) {
      output_.add(Kind::created, path);
      if (appeared_with_content(change, path)) output_.add(Kind::written, path);
    } else if ((mask & IN_CREATE) != 0 || replaces) {
      const UniqueFd parent = open(directory, O_PATH | O_DIRECTORY);
      if (parent) {
        tell_created(parent.get(), name.c_str(), path);
        told_.erase(path);
      } else {
        output_.add(Kind::created, path);
      }
    } else {
      output_.add(Kind::created, path);
    }
    if (is_directory) watch_new(path);
    return;
  }
  if ((mask & IN_DELETE) != 0) output_.add(Kind::removed, path);
  if ((mask & IN_MOVED_FROM) != 0) output_.add(Kind::renamed, path);
  if ((mask & (IN_DELETE | IN_MOVED_FROM)) != 0) {
    told_.erase(path);
    if (is_directory) forget(path);
  }
  if ((mask & IN_MODIFY) != 0) output_.add(Kind::written, path);
  const bool is_told = !is_name_of_unnamed(name) || open(path, O_PATH | O_NOFOLLOW);
  if ((mask & IN_ATTRIB) != 0 && is_told) output_.add(Kind::mode_changed, path);
}

// Its mode was changed: a directory that the user can no longer read is no longer watched.
void WatchedTree::check_access(const std::string& path) {
  if (open(path, open_reading | O_DIRECTORY) || (errno != EACCES && errno != EPERM)) return;
  if (path.empty()) return;
  forget(path);
  tell_incomplete(path);
}

}  // namespace cloche::agent
