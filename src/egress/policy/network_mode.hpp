// The words for a network: `none`, `allow-list`, `internet`.
#pragma once

#include <string_view>

#include "cloche/network.hpp"
#include "core/result.hpp"

namespace cloche::egress {

std::string_view to_string(Network network);
// invalid_argument lists the words.
Result<Network> parse_network(std::string_view word);

// Bounds what a request can make the server keep: at most 256 rules and names, each of at most 300 characters; `none`
// has no rules. invalid_argument.
Status check_shape(const NetworkPolicy& network);

}  // namespace cloche::egress
