// Text of a configuration: what may be in it, and how it is quoted in an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche::config {

struct BadCharacter {
  int line = 1;
  std::string why;
};

// The first thing that is not UTF-8 or is a control character other than tab and line end.
std::optional<BadCharacter> first_bad_character(std::string_view text);

// `text` on one line, without control characters, cut when it is long.
std::string printable(std::string_view text);

// The same in backquotes.
std::string shown(std::string_view text);

}  // namespace cloche::config
