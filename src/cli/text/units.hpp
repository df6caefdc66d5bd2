// Sizes, spans of time and moments, short enough for tables.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace cloche::cli {

// "512 B", "1.5 KiB", "64.0 MiB".
std::string size_text(std::uint64_t bytes);
// "12s", "5m", "3h", "2d".
std::string span_text(std::chrono::seconds span);
// How long ago a time of the service was; "-" for an invalid time.
std::string age_text(std::string_view utc, std::chrono::sys_seconds now);
// How long until then; "-" for an invalid time.
std::string time_left_text(std::string_view utc, std::chrono::sys_seconds now);

}  // namespace cloche::cli
