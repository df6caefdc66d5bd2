#include "agent/files/tree/merge_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "agent/files/cancel.hpp"
#include "agent/files/tree/names.hpp"
#include "agent/files/tree/paths.hpp"
#include "agent/files/tree/tree_cursor.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

class TreeMerge {
 public:
  TreeMerge(TreeCursor from, TreeCursor to, Merge merge, ReadOnlyFiles read_only)
      : from_(std::move(from)), to_(std::move(to)), merge_(merge), read_only_(read_only) {}

  Status run() {
    CLOCHE_CHECK(read_level(""));
    while (!levels_.empty()) {
      // Only the check can be taken back: a move that has begun is better completed.
      if (merge_ == Merge::check && cancelled()) return fail_file(ECANCELED);
      Level& level = levels_.back();
      if (level.next == level.names.size()) {
        levels_.pop_back();
        if (levels_.empty()) break;
        if (const int number = from_.leave(); number != 0) return refuse("", number);
        if (const int number = to_.leave(); number != 0) return refuse("", number);
        continue;
      }
      // Copied: the level moves when another is put on top of it.
      const std::string name = level.names.name(level.next++);
      CLOCHE_CHECK(merge_one(name));
    }
    return {};
  }

 private:
  struct Level {
    std::string own_name;
    NameList names;
    std::size_t next = 0;
  };

  Status merge_one(const std::string& name) {
    struct stat ours = {};
    struct stat theirs = {};
    if (::fstatat(from_.fd(), name.c_str(), &ours, AT_SYMLINK_NOFOLLOW) != 0) return refuse(name, errno);
    const bool taken = ::fstatat(to_.fd(), name.c_str(), &theirs, AT_SYMLINK_NOFOLLOW) == 0;
    if (!taken && errno != ENOENT) return refuse(name, errno);
    if (taken && S_ISDIR(ours.st_mode) != S_ISDIR(theirs.st_mode)) {
      return fail(ErrorCode::already_exists,
                  shown(path_of(name)) + (S_ISDIR(ours.st_mode)
                                              ? ": is a directory in the archive but exists as another type of file"
                                              : ": exists as a directory but is another type of file in the archive"));
    }
    if (taken && S_ISDIR(ours.st_mode)) return enter(name);
    if (merge_ == Merge::move) return move(name, ours);
    if (::faccessat(to_.fd(), ".", W_OK | X_OK, AT_EACCESS) != 0) return refuse(name, errno);
    return taken ? check_replaceable(name, theirs) : Status();
  }

  Status check_replaceable(const std::string& name, const struct stat& theirs) {
    if (S_ISLNK(theirs.st_mode)) return {};
    if (!S_ISREG(theirs.st_mode)) {
      return fail(ErrorCode::already_exists, shown(path_of(name)) + ": exists and is not a regular file");
    }
    if (read_only_ == ReadOnlyFiles::replace) return {};
    auto writable = require_writable(to_.fd(), name);
    if (!writable) return fail(std::move(writable).error().at(shown(path_of(name))));
    return {};
  }

  Status move(const std::string& name, const struct stat& ours) {
    // A directory changes its own `..` when it is moved, and has to be writable for that.
    const bool guarded = S_ISDIR(ours.st_mode) && (ours.st_mode & 0300) != 0300;
    if (guarded) (void)::fchmodat(from_.fd(), name.c_str(), 0700, AT_SYMLINK_NOFOLLOW);
    if (::renameat(from_.fd(), name.c_str(), to_.fd(), name.c_str()) != 0) return refuse(name, errno);
    if (guarded) (void)::fchmodat(to_.fd(), name.c_str(), ours.st_mode & 0777, AT_SYMLINK_NOFOLLOW);
    return {};
  }

  Status enter(const std::string& name) {
    if (const int number = from_.enter_own(name.c_str()); number != 0) return refuse(name, number);
    if (const int number = to_.enter(name.c_str()); number != 0) return refuse(name, number);
    if (to_.on_other_mount()) return refuse(name, EXDEV);
    return read_level(name);
  }

  Status read_level(std::string name) {
    Level level{.own_name = std::move(name)};
    if (const int number = read_names(from_.fd(), level.names, Names::first, 0).error; number != 0) {
      return refuse(level.own_name, number);
    }
    levels_.push_back(std::move(level));
    return {};
  }

  std::string path_of(const std::string& name) const {
    std::string path;
    for (const Level& level : levels_) {
      if (!level.own_name.empty()) path.append(level.own_name).append("/");
    }
    return path + name;
  }

  std::unexpected<Error> refuse(const std::string& name, int number) const { return fail_file(number, path_of(name)); }

  TreeCursor from_;
  TreeCursor to_;
  Merge merge_;
  ReadOnlyFiles read_only_;
  std::vector<Level> levels_;
};

}  // namespace

Status merge_tree(int from, int to, Merge merge, ReadOnlyFiles read_only) {
  auto source = TreeCursor::at(UniqueFd(::openat(from, ".", open_reading)));
  if (!source) return fail_file(source.error());
  auto target = TreeCursor::at(UniqueFd(::openat(to, ".", open_reading)));
  if (!target) return fail_file(target.error());
  return TreeMerge(std::move(*source), std::move(*target), merge, read_only).run();
}

}  // namespace cloche::agent
