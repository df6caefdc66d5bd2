// Where a running service is.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "http/endpoint.hpp"

namespace cloche::cli {

inline constexpr std::string_view usual_server = "http://127.0.0.1:8080";

// "http://HOST[:PORT]", "https://HOST[:PORT]" or "unix:PATH". `authority` is the PEM file that vouches for https; the
// system's when it is empty. `invalid_argument` for anything else, a path or a user in the URL among it.
Result<http::Endpoint> parse_server_place(std::string_view text, const std::string& authority);

}  // namespace cloche::cli
