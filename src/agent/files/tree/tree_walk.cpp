#include "agent/files/tree/tree_walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "agent/files/cancel.hpp"
#include "agent/files/tree/kernel_files.hpp"
#include "agent/files/tree/names.hpp"
#include "agent/files/tree/tree_cursor.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

struct Level {
  NameList names;
  std::size_t next = 0;
  std::size_t path_size = 0;  // of the directory's own path
  enum class Pass { all, files, directories } pass = Pass::all;
};

class TreeWalk {
 public:
  TreeWalk(TreeCursor cursor, const WalkOptions& options, const std::function<Result<WalkStep>(const Found&)>& visit)
      : cursor_(std::move(cursor)), options_(options), visit_(visit) {}

  Result<Walked> run() {
    if (const int number = read_level(); number != 0) return fail_file(number);
    while (!levels_.empty()) {
      if (cancelled()) return fail_file(ECANCELED);
      Level& level = levels_.back();
      path_.resize(level.path_size);
      if (level.next == level.names.size() && level.pass == Level::Pass::files) {
        level.pass = Level::Pass::directories;
        level.next = 0;
        continue;
      }
      if (level.next == level.names.size()) {
        held_ -= level.names.bytes();
        levels_.pop_back();
        if (levels_.empty()) break;
        if (const int number = cursor_.leave(); number != 0) return fail(moved_away(number));
        continue;
      }
      const char* name = level.names.name(level.next);
      const unsigned char told = level.names.type(level.next++);
      if (level.pass == Level::Pass::files && told == DT_DIR) continue;
      if (level.pass == Level::Pass::directories && told != DT_DIR && told != DT_UNKNOWN) continue;
      const unsigned char type = type_of(name, told);
      if (level.pass != Level::Pass::all && (type == DT_DIR) != (level.pass == Level::Pass::directories)) continue;
      if (type == DT_UNKNOWN) continue;  // gone
      if (!path_.empty()) path_ += '/';
      path_ += name;
      CLOCHE_TRY(const WalkStep step, visit_({cursor_.fd(), name, path_, type, cursor_.depth()}));
      if (step == WalkStep::stop) break;
      if (step == WalkStep::descend && type == DT_DIR) CLOCHE_CHECK(descend(name));
    }
    return walked_;
  }

 private:
  Status descend(const char* name) {
    if (path_.size() > longest_path) {
      if (options_.unreadable == WalkOptions::Unreadable::fail) return fail_file(ENAMETOOLONG, path_);
      walked_.cut = true;
      return {};
    }
    int number = cursor_.enter(name);
    if (number == 0 && is_left_aside()) {
      if (const int lost = cursor_.leave(); lost != 0) return fail(moved_away(lost));
      if (options_.mounts == WalkOptions::Mounts::fail) return fail_file(EXDEV, path_);
      ++walked_.skipped;
      return {};
    }
    if (number == 0) {
      number = read_level();
      if (number == 0) return {};
      if (const int lost = cursor_.leave(); lost != 0) return fail(moved_away(lost));
    }
    // Removed, or replaced by something else, since its name was read.
    if (number == ENOENT || number == ENOTDIR || number == ELOOP) return {};
    const bool forbidden = number == EACCES || number == EPERM;
    if (!forbidden || options_.unreadable == WalkOptions::Unreadable::fail) return fail_file(number, path_);
    ++walked_.skipped;
    return {};
  }

  // Of the directory just entered.
  bool is_left_aside() const {
    if (options_.mounts == WalkOptions::Mounts::enter || !cursor_.on_other_mount()) return false;
    return options_.mounts == WalkOptions::Mounts::fail || is_kernel_file_system(cursor_.fd());
  }

  int read_level() {
    Level level{.path_size = path_.size()};
    if (options_.order == WalkOptions::Order::files_first) level.pass = Level::Pass::files;
    const NamesRead read = read_names(cursor_.fd(), level.names, Names::first, options_.names_a_directory);
    if (read.error != 0) return read.error;
    walked_.cut = walked_.cut || read.cut;
    held_ += level.names.bytes();
    levels_.push_back(std::move(level));
    return held_ > most_name_bytes ? EOVERFLOW : 0;
  }

  unsigned char type_of(const char* name, unsigned char told) const {
    if (told != DT_UNKNOWN) return told;
    struct stat status = {};
    if (::fstatat(cursor_.fd(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) return DT_UNKNOWN;
    return static_cast<unsigned char>(IFTODT(status.st_mode));
  }

  Error moved_away(int number) const {
    if (number != ESTALE) return file_error(number, path_);
    return Error{ErrorCode::unavailable, shown(path_) + ": was moved while it was being read"};
  }

  TreeCursor cursor_;
  const WalkOptions& options_;
  const std::function<Result<WalkStep>(const Found&)>& visit_;
  std::vector<Level> levels_;
  std::string path_;
  std::size_t held_ = 0;
  Walked walked_;
};

}  // namespace

Result<Walked> walk_tree(UniqueFd top, const WalkOptions& options,
                         const std::function<Result<WalkStep>(const Found&)>& visit) {
  auto cursor = TreeCursor::at(std::move(top));
  if (!cursor) return fail_file(cursor.error());
  return TreeWalk(std::move(*cursor), options, visit).run();
}

}  // namespace cloche::agent
