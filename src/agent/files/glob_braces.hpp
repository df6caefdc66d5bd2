// `{a,b}` in glob patterns: alternatives, written out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche::agent {

constexpr std::size_t most_alternatives = 1000;

// Every pattern that the braces stand for; one when there are none. Groups may be nested and hold slashes; a backslash
// takes the next byte's meaning away and stays. invalid_argument for unbalanced braces, more than most_alternatives, or
// what would grow beyond 256 KiB.
Result<std::vector<std::string>> expand_braces(std::string_view pattern);

}  // namespace cloche::agent
