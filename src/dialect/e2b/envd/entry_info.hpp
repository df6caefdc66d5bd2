// EntryInfo of filesystem.Filesystem: a file as envd describes it. No I/O.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "json/json.hpp"
#include "sandbox/spec.hpp"
#include "wire/file_messages.hpp"

namespace cloche::dialect::e2b {

// Extended attributes with this prefix are a file's metadata.
inline constexpr std::string_view metadata_prefix = "user.e2b.";

// Names of users and groups; numbers for others.
class OwnerNames {
 public:
  explicit OwnerNames(const SandboxSpec& spec);
  std::string user(std::uint32_t uid) const;
  std::string group(std::uint32_t gid) const;

 private:
  std::map<std::uint32_t, std::string> users_;
  std::map<std::uint32_t, std::string> groups_;
};

// As Go writes a file's mode: `-rw-r--r--`, `dtrwxrwxrwx`, `Lrwxrwxrwx`.
std::string go_mode(wire::FileType type, std::uint32_t mode);
// RFC 3339, in UTC, of nanoseconds since 1970.
std::string timestamp_text(std::int64_t since_epoch);

// An entry that was described with all details and without following a link, at this absolute path.
json::object entry_info(const wire::FileEntry& entry, std::string_view path, const OwnerNames& names);

std::map<std::string, std::string> metadata_of(const wire::FileEntry& entry);

}  // namespace cloche::dialect::e2b
