/// @file
/// Files of a sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cloche {

/// The type of an entry.
enum class EntryType { other, regular, directory, symlink, fifo, socket, device };

/// A file, a directory or another file system object.
struct Entry {
  std::string path;  ///< From stat: the requested path. In a listing: the path relative to the listed directory.
  EntryType type = EntryType::other;  ///< The type. stat follows symbolic links; a listing does not.
  std::uint64_t size = 0;             ///< The size in bytes.
  std::uint32_t mode = 0;             ///< The permission bits.
  std::int64_t modified_ns = 0;       ///< The modification time in nanoseconds since the epoch.
  std::string link_target;            ///< The target of a symbolic link.
};

/// A list of entries that may be incomplete.
struct EntryListing {
  std::vector<Entry> entries;  ///< The entries, sorted. A directory comes before its contents.
  bool cut = false;            ///< True if the list is incomplete because of a limit.
};

/// One matching line.
struct Match {
  std::string path;        ///< The path of the file, relative to the searched directory.
  std::uint64_t line = 0;  ///< The line number, from 1.
  std::string text;        ///< The line without its line break.
};

/// A list of matches that may be incomplete.
struct MatchListing {
  std::vector<Match> matches;  ///< The matches, sorted by path and line.
  bool cut = false;            ///< True if the list is incomplete because of a limit.
};

/// An exact replacement in a file.
struct Edit {
  std::string old_text;        ///< The text to replace, at most 1 MiB.
  std::string new_text;        ///< The new text, at most 1 MiB.
  std::uint64_t expected = 1;  ///< How often `old_text` must occur. 0: at least once.
};

}  // namespace cloche
