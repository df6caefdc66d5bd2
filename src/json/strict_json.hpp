// JSON of others, read so that no two readers can understand it differently.
#pragma once

#include <string_view>

#include "core/result.hpp"
#include "json/json.hpp"

namespace cloche {

// One value of UTF-8, at most `depth` deep, in one pass. A key that is in an object twice, at any depth and however it
// is escaped, is an error. Messages name no content.
Result<json::value> parse_strict_json(std::string_view text, std::size_t depth);

// The same for an object.
Result<json::object> parse_strict_object(std::string_view text, std::size_t depth);

}  // namespace cloche
