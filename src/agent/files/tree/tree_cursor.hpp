// A position in a directory tree that moves down and up one level at a time, by name and descriptor and never by path.
// So the depth does not matter, and the number of descriptors is bounded. Symbolic links are never followed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <vector>

#include "core/unique_fd.hpp"

namespace cloche::agent {

class TreeCursor {
 public:
  // Starts at the top: an open directory.
  static std::expected<TreeCursor, int> at(UniqueFd top);

  // The directory the cursor is in, open for reading.
  int fd() const { return levels_.back().fd.get(); }
  int top() const { return levels_.front().fd.get(); }
  // 0 at the top.
  std::size_t depth() const { return levels_.size() - 1; }
  // Whether the directory lies on another mount than the top.
  bool on_other_mount() const;

  // Enters a directory. Returns an errno; ENOTDIR or ELOOP if it is not a directory. The cursor then does not move.
  int enter(const char* name);
  // The same, after giving the owner all rights on it where they were missing. For trees that are ours to change.
  int enter_own(const char* name);
  // Out again, to the directory it was entered from; ESTALE when the tree was changed so that it cannot be found. Hands
  // out the directory left when asked.
  int leave(UniqueFd* left = nullptr);

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    std::uint64_t mount = 0;  // 0 where the kernel does not say
    bool operator==(const Identity&) const = default;
  };
  struct Level {
    Identity identity;
    UniqueFd fd;  // closed when far above
  };
  static std::expected<Identity, int> identify(int fd);

  std::vector<Level> levels_;
};

}  // namespace cloche::agent
