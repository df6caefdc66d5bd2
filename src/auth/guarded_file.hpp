// Files that decide about access: read only if no other user could have written them, and replaced atomically.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::auth {

enum class Secrecy {
  secret,       // only the owner may read or write it
  only_intact,  // others may read it
};

// A link lets a mounted secret be exchanged in one step; a file that we replace ourselves must not be one.
enum class Links { followed, refused };

struct FileRule {
  Secrecy secrecy = Secrecy::secret;
  Links links = Links::refused;
  std::size_t most_bytes = 0;
};

// Two equal stamps of one path: the file was neither changed nor replaced in between.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;
  std::uint32_t owner = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

struct GuardedFile {
  std::string content;
  FileStamp stamp;

  bool others_can_read() const { return (stamp.mode & (S_IRGRP | S_IROTH)) != 0; }
};

Result<FileStamp> stamp_of(const std::string& path, Links links);

// `not_found` if it does not exist; `permission_denied` if its owner is neither this user nor root, or others have more
// permissions than the rule allows; `invalid_argument` if it is not a regular file or is too large.
Result<GuardedFile> read_guarded(const std::string& path, const FileRule& rule);

// Writes a new file with mode 0600, which is on disk before it replaces the old one. Its modification time is later
// than the old one's even within one tick of the clock, so that a reader's stamp always differs. The caller holds the
// FileLock of the path.
Status replace_guarded(const std::string& path, std::string_view content);

// Held while a file is read in order to be written again. The lock is on `PATH.lock`, because the file itself is
// replaced.
class FileLock {
 public:
  // `timeout` when another process keeps it for so long.
  static Result<FileLock> take(const std::string& path, std::chrono::milliseconds wait);

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace cloche::auth
