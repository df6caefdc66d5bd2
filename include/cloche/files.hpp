// Files of a sandbox, as the library speaks of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cloche {

enum class EntryType { other, regular, directory, symlink, fifo, socket, device };

struct Entry {
  std::string path;
  EntryType type = EntryType::other;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;
  std::int64_t modified_ns = 0;  // since the epoch
  std::string link_target;
};

struct EntryListing {
  std::vector<Entry> entries;
  bool cut = false;  // there was more than the cap let through
};

struct Match {
  std::string path;
  std::uint64_t line = 0;
  std::string text;
};

struct MatchListing {
  std::vector<Match> matches;
  bool cut = false;
};

}  // namespace cloche
