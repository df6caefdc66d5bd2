// Names of hosts as they are compared: lower case, without the final dot, and never an address in disguise.
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::egress {

// Letters, digits, `-` and `_` in labels of 1 to 63, 253 in all. Names with other letters must be in their ASCII form
// (`xn--`). invalid_argument for anything else, and for a last label that is a number: some resolvers take `0x7f.1`,
// `2130706433` and `127.1` for addresses.
Result<std::string> normalize_host(std::string_view name);

// Whether `name` is below `suffix` (both normalized): `a.example.org` is below `example.org`, `example.org` is not.
bool is_below(std::string_view name, std::string_view suffix);

}  // namespace cloche::egress
