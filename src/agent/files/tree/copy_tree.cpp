#include "agent/files/tree/copy_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "agent/files/streams.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/tree_walk.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

// Each level has a descriptor open.
constexpr std::size_t deepest_copy = 256;

void copy_time(int fd, const struct stat& status) {
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, status.st_mtim};
  (void)::futimens(fd, times);
}

// A directory of the copy, which gets its mode and time once it is full.
struct CopiedDirectory {
  UniqueFd directory;
  struct stat original = {};
};

class TreeCopy {
 public:
  // The top of the copy, made already.
  explicit TreeCopy(CopiedDirectory top) { levels_.push_back(std::move(top)); }

  Result<WalkStep> visit(const Found& found) {
    CLOCHE_CHECK(leave_to(found.depth + 1));
    switch (found.type) {
      case DT_DIR: return enter(found);
      case DT_REG: {
        CLOCHE_CHECK(copy_file(found));
        return WalkStep::pass;
      }
      case DT_LNK: {
        CLOCHE_CHECK(copy_link(found));
        return WalkStep::pass;
      }
      default:
        return fail(ErrorCode::invalid_argument,
                    shown(found.path) + ": cannot be copied to another file system: not a file, directory or link");
    }
  }

  Status finish() { return leave_to(0); }

 private:
  int here() const { return levels_.back().directory.get(); }

  Result<WalkStep> enter(const Found& found) {
    if (levels_.size() >= deepest_copy) {
      return fail(ErrorCode::limit_reached, shown(found.path) + ": nested too deeply to move to another file system");
    }
    CopiedDirectory level;
    if (::fstatat(found.parent, found.name, &level.original, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail_file(errno, found.path);
    }
    if (::mkdirat(here(), found.name, 0700) != 0) return fail_file(errno, found.path);
    level.directory.reset(::openat(here(), found.name, open_reading | O_NOFOLLOW));
    if (!level.directory) return fail_file(errno, found.path);
    levels_.push_back(std::move(level));
    return WalkStep::descend;
  }

  Status copy_file(const Found& found) {
    const UniqueFd copy(::openat(here(), found.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!copy) return fail_file(errno, found.path);
    auto copied = copy_file_into(found.parent, found.name, copy.get());
    if (!copied) return fail(std::move(copied).error().at(shown(found.path)));
    return {};
  }

  Status copy_link(const Found& found) {
    const auto target = read_link(found.parent, found.name);
    if (!target) return fail_file(target.error(), found.path);
    if (::symlinkat(target->c_str(), here(), found.name) != 0) return fail_file(errno, found.path);
    return {};
  }

  Status leave_to(std::size_t count) {
    while (levels_.size() > count) {
      const CopiedDirectory& level = levels_.back();
      if (::fchmod(level.directory.get(), level.original.st_mode & 0777) != 0) return fail_file(errno);
      copy_time(level.directory.get(), level.original);
      levels_.pop_back();
    }
    return {};
  }

  std::vector<CopiedDirectory> levels_;
};

}  // namespace

Status copy_file_into(int parent, const char* name, int into) {
  const UniqueFd file(::openat(parent, name, open_reading | O_NOFOLLOW));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0) return fail_file(errno);
  CLOCHE_CHECK(require_regular(status.st_mode));
  std::string buffer(chunk_size, '\0');
  for (;;) {
    const ssize_t got = read_some(file.get(), buffer.data(), buffer.size());
    if (got < 0) return fail_file(static_cast<int>(-got));
    if (got == 0) break;
    const int number = write_all(into, std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
    if (number != 0) return fail_file(number);
  }
  if (::fchmod(into, status.st_mode & 0777) != 0) return fail_file(errno);
  copy_time(into, status);
  return {};
}

Status copy_tree(const Place& from, int parent, const std::string& name) {
  UniqueFd source(::openat(from.parent.get(), from.name.c_str(), open_reading | O_NOFOLLOW));
  CopiedDirectory top;
  if (!source || ::fstat(source.get(), &top.original) != 0) return fail_file(errno);
  if (!S_ISDIR(top.original.st_mode)) return fail_file(ENOTDIR);
  if (::mkdirat(parent, name.c_str(), 0700) != 0) return fail_file(errno);
  top.directory.reset(::openat(parent, name.c_str(), open_reading | O_NOFOLLOW));
  if (!top.directory) return fail_file(errno);
  TreeCopy copy(std::move(top));
  const WalkOptions options{.unreadable = WalkOptions::Unreadable::fail, .mounts = WalkOptions::Mounts::fail};
  CLOCHE_TRY([[maybe_unused]] const Walked walked,
             walk_tree(std::move(source), options, [&](const Found& found) { return copy.visit(found); }));
  return copy.finish();
}

}  // namespace cloche::agent
