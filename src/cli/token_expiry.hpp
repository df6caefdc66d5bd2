// When a token ends, as the command line takes it.
#pragma once

#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace cloche::cli {

// "90s", "30m", "12h", "30d", "8w" from now, or a moment: "2031-05-17T09:30:00Z". `invalid_argument` for anything else
// and for what would be too far away to be written.
Result<WallTime> parse_expiry(std::string_view text, WallTime now);

}  // namespace cloche::cli
