// The word that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cloche::config {

// The one of `known` that takes the fewest slips of the finger to become `word`, or none when all are too far off.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace cloche::config
