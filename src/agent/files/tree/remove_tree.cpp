#include "agent/files/tree/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "agent/files/cancel.hpp"
#include "agent/files/tree/names.hpp"
#include "agent/files/tree/tree_cursor.hpp"
#include "core/file_error.hpp"

namespace cloche::agent {

namespace {

// Names of one directory held at once.
constexpr std::size_t batch_size = 1024;

bool is_directory(int parent, const char* name, unsigned char told) {
  if (told != DT_UNKNOWN) return told == DT_DIR;
  struct stat status = {};
  return ::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

class TreeRemoval {
 public:
  TreeRemoval(UniqueFd parent, WhenCancelled when_cancelled)
      : parent_(std::move(parent)), when_cancelled_(when_cancelled) {}

  Removal run(const std::string& name) {
    auto cursor = TreeCursor::at(std::move(parent_));
    if (!cursor) {
      note(name.c_str(), cursor.error());
      return result_;
    }
    cursor_ = &*cursor;
    remove_one(name.c_str(), DT_UNKNOWN);
    while (!levels_.empty() && !lost_) {
      Level& level = levels_.back();
      if (level.next < level.names.size()) {
        if (when_cancelled_ == WhenCancelled::stop && cancelled()) {
          note(level.own_name.c_str(), ECANCELED);
          break;
        }
        const std::size_t i = level.next++;
        // Copied: the level moves when another is put on top of it.
        const std::string child = level.names.name(i);
        remove_one(child.c_str(), level.names.type(i));
      } else if (level.more && result_.removed > level.removed_before) {
        read_batch(level);
      } else {
        leave();
      }
    }
    return result_;
  }

 private:
  struct Level {
    std::string own_name;
    NameList names;
    std::size_t next = 0;
    bool more = false;                 // the directory had more names than the batch
    std::uint64_t removed_before = 0;  // in all, when the batch was read: a batch that removed nothing is the last
  };

  void remove_one(const char* name, unsigned char told) {
    const bool directory = is_directory(cursor_->fd(), name, told);
    if (::unlinkat(cursor_->fd(), name, directory ? AT_REMOVEDIR : 0) == 0) {
      ++result_.removed;
      return;
    }
    const int number = errno;
    if (number == ENOENT) return;
    // An empty directory without rights is removed by the call above; one with content has to be entered.
    if (directory && (number == ENOTEMPTY || number == EEXIST)) return enter(name);
    // The type of the name changed between the two calls: try again with the new type.
    if (told != DT_UNKNOWN && (number == EISDIR || number == ENOTDIR)) return remove_one(name, DT_UNKNOWN);
    note(name, number);
  }

  void enter(const char* name) {
    const int number = cursor_->enter_own(name);
    if (number == ENOENT) return;
    if (number != 0) return note(name, number);
    if (cursor_->on_other_mount()) {
      note(name, EBUSY);
      if (const int lost = cursor_->leave(); lost != 0) lose(lost);
      return;
    }
    Level level{.own_name = name};
    read_batch(level);
    levels_.push_back(std::move(level));
  }

  void read_batch(Level& level) {
    level.names.clear();
    level.next = 0;
    level.removed_before = result_.removed;
    ::lseek(cursor_->fd(), 0, SEEK_SET);
    const NamesRead read = read_names(cursor_->fd(), level.names, Names::any, batch_size);
    level.more = read.cut;
    if (read.error != 0) note(level.own_name.c_str(), read.error);
  }

  void leave() {
    const std::string name = std::move(levels_.back().own_name);
    levels_.pop_back();
    if (const int number = cursor_->leave(); number != 0) return lose(number);
    if (::unlinkat(cursor_->fd(), name.c_str(), AT_REMOVEDIR) == 0) {
      ++result_.removed;
    } else if (errno != ENOENT && result_.failed == 0) {
      // Not empty although everything was removed: another process is still writing to it.
      note(name.c_str(), errno);
    }
  }

  void note(const char* name, int number) {
    ++result_.failed;
    if (result_.failed > 1) return;
    std::string path;
    for (const Level& level : levels_) path.append(level.own_name).append("/");
    result_.first_failure = file_error(number, path + name);
  }

  // The way up is gone: nothing more can be removed safely.
  void lose(int number) {
    lost_ = true;
    note(".", number);
  }

  UniqueFd parent_;
  WhenCancelled when_cancelled_;
  TreeCursor* cursor_ = nullptr;
  std::vector<Level> levels_;
  bool lost_ = false;
  Removal result_;
};

}  // namespace

Removal remove_tree(int parent, const std::string& name, WhenCancelled when_cancelled) {
  // The cursor owns its top; names in it are removed, but it is never read.
  UniqueFd own(::openat(parent, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return TreeRemoval(std::move(own), when_cancelled).run(name);
}

}  // namespace cloche::agent
