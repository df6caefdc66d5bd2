// The path and query of an Engine API call.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cloche::docker {

using Query = std::vector<std::pair<std::string, std::string>>;

// Everything but letters, digits and -._~ as %XX.
std::string percent_encode(std::string_view text);

// `path?name=value&…`, names and values encoded.
std::string with_query(std::string path, const Query& query);

}  // namespace cloche::docker
