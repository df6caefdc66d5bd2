// The directories of a watch, and the kernel's watches on them.
//
// A directory is watched before its names are read, so nothing in it is missed: what was in it before the watch is
// found by reading it, what comes later by an event. What both find is told once.
#pragma once

#include <sys/inotify.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "agent/files/operations/operations.hpp"
#include "agent/files/watch/watch_output.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

class WatchedTree {
 public:
  // Watches the directory, and with `recursive` all below it that the user can read. All arguments outlive the tree.
  static Result<WatchedTree> arm(const wire::FileRequest& request, const Base& base, const CheckedPath& top,
                                 WatchOutput& output);

  int fd() const { return inotify_.get(); }
  // Some of what has been read is left for the next call of take_events().
  bool has_queued() const { return !queue_.empty(); }

  // Takes the events that have come, as many as the output has room for. not_found when the directory itself is gone.
  Status take_events();

 private:
  WatchedTree(const wire::FileRequest& request, const Base& base, const CheckedPath& top, UniqueFd inotify,
              WatchOutput& output);

  // An event of the kernel.
  struct Change {
    int watch = -1;
    std::uint32_t mask = 0;
    std::uint32_t cookie = 0;
    std::string name;  // in the watched directory; empty: that directory itself
  };

  enum class Tell { nothing, created };
  // Watches the open directory; an errno.
  int watch(int directory, const std::string& path);
  // Watches all that is below a watched directory.
  Status watch_below(UniqueFd directory, const std::string& path, Tell tell);
  void watch_new(const std::string& path);
  void forget(const std::string& path);
  void tell_created(int parent, const char* name, const std::string& path);
  // Appends events to the queue; false if there are none now.
  bool read_events();
  bool has_write_ahead(const Change& created) const;
  // Whether a new file has content of which no event tells.
  bool appeared_with_content(const Change& created, const std::string& path);
  Status take(const Change& change);
  void take_named(const Change& change, const std::string& directory);
  void check_access(const std::string& path);
  void tell_incomplete(const std::string& path);
  // Below the top; empty: the top itself. Or none, and errno.
  UniqueFd open(const std::string& path, int flags) const;

  bool recursive_;
  std::size_t most_;
  WalkOptions::Mounts mounts_;
  // Found anew each time: the kernel does not tell of the removal of a directory that is held open.
  const Base& base_;
  const CheckedPath& top_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  UniqueFd inotify_;
  WatchOutput& output_;
  std::unordered_map<int, std::string> paths_;  // of watches; the top's is empty
  std::map<std::string, int> watches_;
  std::unordered_set<std::string> told_;  // found by reading; their events may still be in the queue
  std::deque<Change> queue_;              // read and not taken yet
  std::uint32_t replaced_by_ = 0;         // the cookie of a move from a temporary name
  bool told_incomplete_ = false;
  bool has_unnamed_files_ = false;
};

}  // namespace cloche::agent
