// Numbers and durations as a configuration writes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::config {

// Decimal digits and nothing else.
std::optional<std::uint64_t> parse_whole(std::string_view text);

// Decimal digits, with or without a fraction; no sign, no exponent.
std::optional<double> parse_real(std::string_view text);

inline constexpr std::chrono::milliseconds longest_duration = std::chrono::days(366);

// "600", "1.5" are seconds; "500ms", "10s", "5m", "2h" say their unit. To the millisecond, and at most
// longest_duration.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// "500ms", "10s", "5m", the shortest way to write it.
std::string to_text(std::chrono::milliseconds duration);

}  // namespace cloche::config
