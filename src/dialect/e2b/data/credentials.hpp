// What a request to a sandbox says about its sender. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/fields.hpp"

namespace cloche::dialect::e2b {

// The user in `Authorization: Basic base64("user:")`. Empty if no user is named; nullopt if the field is invalid.
std::optional<std::string> basic_user(const http::Fields& fields);

// The fields of a request as a program in a sandbox may see them: without the tokens of this service.
http::Fields without_our_tokens(const http::Fields& fields);

}  // namespace cloche::dialect::e2b
