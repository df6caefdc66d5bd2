// LineSplitter: bytes in, lines out, none longer than a limit. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/result.hpp"

namespace cloche::docker {

class LineSplitter {
 public:
  explicit LineSplitter(Bytes longest) : longest_(longest.count) {}

  // Takes the next line off the front of `bytes`, without its end; nothing when they are used up before a line's end.
  // `limit_reached` when a line is too long.
  Result<std::optional<std::string>> next(std::string_view& bytes);

  // The bytes after the last line break.
  std::string take_rest() { return std::exchange(line_, {}); }

 private:
  std::size_t longest_;
  std::string line_;
};

}  // namespace cloche::docker
