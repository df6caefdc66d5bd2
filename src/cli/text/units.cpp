#include "cli/text/units.hpp"

#include <fmt/format.h>

#include "core/utc_time.hpp"

namespace cloche::cli {

std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // What would be shown as 1024.0 is 1.0 of the next unit.
  while (value >= 1023.95 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string span_text(std::chrono::seconds span) {
  const auto seconds = std::max<std::int64_t>(0, span.count());
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (seconds < 7200) return fmt::format("{}m", seconds / 60);
  if (seconds < 172'800) return fmt::format("{}h", seconds / 3600);
  return fmt::format("{}d", seconds / 86'400);
}

std::string age_text(std::string_view utc, std::chrono::sys_seconds now) {
  const auto moment = parse_utc_text(utc);
  if (!moment) return "-";
  return span_text(std::chrono::duration_cast<std::chrono::seconds>(now - *moment));
}

std::string time_left_text(std::string_view utc, std::chrono::sys_seconds now) {
  const auto moment = parse_utc_text(utc);
  if (!moment) return "-";
  return span_text(std::chrono::duration_cast<std::chrono::seconds>(*moment - now));
}

}  // namespace cloche::cli
