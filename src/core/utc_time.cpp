#include "core/utc_time.hpp"

#include <algorithm>
#include <cstdio>

namespace cloche {

namespace {

using namespace std::chrono;

constexpr std::string_view form = "0000-00-00T00:00:00Z";

int number_at(std::string_view text, std::size_t at, std::size_t digits) {
  int number = 0;
  for (const char c : text.substr(at, digits)) number = number * 10 + (c - '0');
  return number;
}

}  // namespace

std::string to_utc_text(WallTime time) {
  time = std::clamp(time, WallTime{}, latest_time);
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

std::string to_utc_text(system_clock::time_point time) { return to_utc_text(floor<seconds>(time)); }

std::optional<WallTime> parse_utc_text(std::string_view text) {
  if (text.size() != form.size()) return std::nullopt;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool fits = form[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
    if (!fits) return std::nullopt;
  }
  const year_month_day date{year{number_at(text, 0, 4)}, month{static_cast<unsigned>(number_at(text, 5, 2))},
                            day{static_cast<unsigned>(number_at(text, 8, 2))}};
  const int hour = number_at(text, 11, 2);
  const int minute = number_at(text, 14, 2);
  const int second = number_at(text, 17, 2);
  if (!date.ok() || date.year() < year{1970} || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return sys_days{date} + hours{hour} + minutes{minute} + seconds{second};
}

}  // namespace cloche
