// JSON of others, read so that no two readers can understand it differently.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "core/result.hpp"

namespace cloche {

// One value of UTF-8, at most `depth` deep. A key that is in an object twice, at any depth and however it is escaped,
// is an error. Messages name no content.
Result<boost::json::value> parse_strict_json(std::string_view text, std::size_t depth);

}  // namespace cloche
