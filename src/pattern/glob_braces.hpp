// `{a,b}` in glob patterns: alternatives, written out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace cloche {

constexpr std::size_t most_alternatives = 1000;

// Expands braces to all patterns; without braces, to the pattern itself. Groups may be nested and contain slashes; a
// backslash escapes the next byte and is kept. invalid_argument for unbalanced braces, more than most_alternatives, or
// a result of more than 256 KiB.
Result<std::vector<std::string>> expand_braces(std::string_view pattern);

}  // namespace cloche
