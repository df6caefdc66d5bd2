// Moments as people and files write them: `2031-05-17T09:30:00Z`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace cloche {

// The last moment that has such a text.
constexpr WallTime latest_time{std::chrono::sys_days{std::chrono::year{9999} / 12 / 31} + std::chrono::hours{24} -
                               std::chrono::seconds{1}};

// For a time from 1970 to the end of 9999; other times are written as the nearer end.
std::string to_utc_text(WallTime time);
// The same, without the fraction of the second.
std::string to_utc_text(std::chrono::system_clock::time_point time);
// That form alone, with a day that exists.
std::optional<WallTime> parse_utc_text(std::string_view text);

}  // namespace cloche
