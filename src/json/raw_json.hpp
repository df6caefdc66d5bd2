// JSON as text: is it valid, and what are an object's members as they were written?
//
// Nothing is rebuilt, so a number of forty digits stays one, and a line of a million zeros costs no tree of values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace cloche {

constexpr std::size_t most_json_depth = 64;

// One whole JSON value of UTF-8, not nested deeper than most_json_depth.
Status check_json(std::string_view text);

// The members of an object, views into its text.
class JsonMembers {
 public:
  // Rejects what is not a valid object, has too many members, or a duplicate member.
  static Result<JsonMembers> of(std::string_view text);

  // As written; nullopt if it is missing.
  std::optional<std::string_view> raw(std::string_view name) const;
  // A string's value; nullopt if it is missing or not a string.
  std::optional<std::string> text(std::string_view name) const;

 private:
  static constexpr std::size_t most = 16;
  std::vector<std::pair<std::string, std::string_view>> members_;
};

}  // namespace cloche
