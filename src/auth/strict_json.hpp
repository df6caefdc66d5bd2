// JSON that decides who somebody is: read so that no two readers can understand it differently.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>

#include "core/result.hpp"

namespace cloche::auth {

// One object of UTF-8, at most `depth` deep. A key that is in an object twice, at any depth and however it is escaped,
// is an error. Messages name no content.
Result<boost::json::object> parse_strict_object(std::string_view text, std::size_t depth);

// The member's text; nullopt when it is not there or no string.
std::optional<std::string_view> text_member(const boost::json::object& object, std::string_view name);

}  // namespace cloche::auth
