// Headers before an entry that describe it: pax records and GNU's long names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::tar {

// Says in place of the header's own fields.
struct Extensions {
  std::optional<std::string> path;
  std::optional<std::string> link;
  std::optional<std::uint64_t> size;
  std::optional<std::int64_t> mtime;
  std::uint32_t mtime_ns = 0;
  // GNU's long names; pax takes precedence.
  std::optional<std::string> gnu_path;
  std::optional<std::string> gnu_link;

  // Takes the records of a pax header in. invalid_argument when they are malformed, unsupported for sparse files.
  Status add_pax(std::string_view records);
  void add_gnu_path(std::string_view content);
  void add_gnu_link(std::string_view content);

 private:
  Status add_record(std::string_view key, std::string_view value);
};

}  // namespace cloche::tar
