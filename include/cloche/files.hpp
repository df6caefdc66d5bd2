/// @file
/// Files of a sandbox, as the library speaks of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cloche {

/// What an entry is.
enum class EntryType { other, regular, directory, symlink, fifo, socket, device };

/// A file, a directory or whatever else a path leads to.
struct Entry {
  std::string path;                   ///< of stat: as asked for; in a listing, below what was listed
  EntryType type = EntryType::other;  ///< what it is; stat follows links, a listing does not
  std::uint64_t size = 0;             ///< in bytes
  std::uint32_t mode = 0;             ///< permission bits
  std::int64_t modified_ns = 0;       ///< since the epoch
  std::string link_target;            ///< of a symlink: what it says
};

/// Entries, and whether they are all.
struct EntryListing {
  std::vector<Entry> entries;  ///< sorted, a directory before what is in it
  bool cut = false;            ///< there was more than the cap let through
};

/// One line that matched.
struct Match {
  std::string path;        ///< of the file, relative to what was searched
  std::uint64_t line = 0;  ///< from 1
  std::string text;        ///< the line, without its end
};

/// Matches, and whether they are all.
struct MatchListing {
  std::vector<Match> matches;  ///< by path and line
  bool cut = false;            ///< there were more than the cap let through
};

/// An exact replacement in a file.
struct Edit {
  std::string old_text;        ///< bytes that must be there, at most 1 MiB
  std::string new_text;        ///< bytes that take their place, at most 1 MiB
  std::uint64_t expected = 1;  ///< how often `old_text` must occur; 0: once or more often
};

}  // namespace cloche
