// Moments as E2B's clients write them: RFC 3339, with a fraction of the second and with any offset. No I/O.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::dialect::e2b {

using Moment = std::chrono::system_clock::time_point;

// A moment counts nanoseconds, so it reaches the year 2262 only. Later times become the last one.
Moment moment_at(std::chrono::milliseconds since_1970);

// "2031-05-17T09:30:00.123Z". A time that no moment can have is not read.
std::string to_time_text(Moment moment);
std::optional<Moment> parse_time_text(std::string_view text);

}  // namespace cloche::dialect::e2b
