// Puts the entries of an archive into a directory of its own: the staging directory of tar_in.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "agent/files/tree/tree_cursor.hpp"
#include "archive/tar_format.hpp"
#include "core/result.hpp"

namespace cloche::agent {

struct UnpackLimits {
  std::uint64_t bytes = 0;    // of all content; 0: no cap
  std::uint64_t entries = 0;  // directories that names imply count too
  // The mode for a file of mode 0: this one, or the mode of the file at its destination, or 0644 if there is none.
  enum class NoMode { is_zero, keeps } no_mode = NoMode::is_zero;
};

class Unpacker {
 public:
  // `destination` is where the content of the staging directory is moved at the end: hard links may point to files
  // there.
  Unpacker(TreeCursor staging, int destination, const UnpackLimits& limits)
      : cursor_(std::move(staging)), destination_(destination), limits_(limits) {}

  // Makes the entry. A name that came before is replaced, but a directory only by a directory. Names go through links
  // of the archive only where these stay inside.
  Status add(const tar::Entry& entry);
  // More of the last entry's content.
  Status data(std::string_view bytes);
  // After the last entry: directories get their own modes and times.
  Status finish();

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t entries() const { return entries_; }

 private:
  // What a directory gets when it is left: while it is open, its mode stays accessible and its time changes.
  struct Meta {
    mode_t mode = 0;
    timespec mtime = {};
  };

  Status add_named(const tar::Entry& entry);
  Status make_file(const tar::Entry& entry);
  Status make_directory(const tar::Entry& entry);
  Status make_symlink(const tar::Entry& entry);
  Status make_hardlink(const tar::Entry& entry);
  mode_t mode_for(const tar::Entry& entry) const;
  Status close_file();
  // Moves to the directory of these components, making what is missing.
  Status go_to(const std::vector<std::string>& directories);
  enum class Enter { named, implied };
  Status enter(const std::string& name, Enter how);
  Status count_one();
  Status leave();
  Status clear_name();
  int here() const { return through_link_ ? through_link_.get() : cursor_.fd(); }
  std::unexpected<Error> refuse(int number) const;

  TreeCursor cursor_;
  int destination_;
  UnpackLimits limits_;
  std::vector<std::string> trail_;  // names from the staging directory to the cursor
  std::vector<Meta> metas_;         // of the same directories
  UniqueFd through_link_;           // where the entry is written if its path leads through a link
  std::string name_;                // last component of the entry
  std::string path_;                // of the entry, for messages
  UniqueFd file_;                   // whose content comes
  std::uint64_t missing_ = 0;       // bytes of it to come
  timespec file_mtime_ = {};
  mode_t file_mode_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t implied_ = 0;  // directories made that the archive has no entry for
};

}  // namespace cloche::agent
