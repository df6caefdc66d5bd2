// PieceFiles: the pieces of one tenant's snapshots, as files of a directory that are named by their SHA-256. Blocking.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snapshot/manifest.hpp"

namespace cloche::snapshot {

// Writes a file so that it appears whole or not at all, and stays after a crash of the host once its directory is
// synced.
Status write_whole(const std::string& directory, const std::string& name, std::string_view bytes);
// A name in a directory, or its removal, survives a crash of the host from now on.
Status sync_directory(const std::string& directory);
// Creates it, and syncs its parent.
Status make_directory(const std::string& directory);
// The content of a regular file of at most so many bytes. `not_found` if there is none, `protocol` if it is larger.
Result<std::string> read_whole(const std::string& path, std::size_t most);
// Names in a directory; none if it does not exist.
Result<std::vector<std::string>> names_in(const std::string& directory);
// What a crash left of write_whole().
bool is_draft(std::string_view name);

class PieceFiles {
 public:
  explicit PieceFiles(std::string directory) : directory_(std::move(directory)) {}

  const std::string& directory() const { return directory_; }
  // Whether a file with this name and size is there. Its content is checked when it is read.
  bool has(const Piece& piece) const;
  Status write(const Piece& piece, std::string_view bytes) const;
  // `internal` if it is missing, or is not what its name says.
  Result<std::string> read(const Piece& piece) const;
  // One that is not there is fine.
  void remove(const Digest& digest) const { remove_name(to_hex(digest)); }
  void remove_name(const std::string& name) const;

 private:
  std::string path_of(const Digest& digest) const { return directory_ + "/" + to_hex(digest); }

  std::string directory_;
};

}  // namespace cloche::snapshot
