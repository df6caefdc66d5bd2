// JSON that decides about identities: parsed so that no two parsers can disagree.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>

#include "core/result.hpp"

namespace cloche::auth {

// One object of UTF-8, at most `depth` deep. A key that is in an object twice, at any depth and however it is escaped,
// is an error. Messages name no content.
Result<boost::json::object> parse_strict_object(std::string_view text, std::size_t depth);

// The member's text; nullopt if it is missing or not a string.
std::optional<std::string_view> text_member(const boost::json::object& object, std::string_view name);

}  // namespace cloche::auth
