#include "cli/token_expiry.hpp"

#include <charconv>
#include <optional>
#include <string>

#include "core/utc_time.hpp"

namespace cloche::cli {

namespace {

std::optional<std::chrono::seconds> unit_of(char letter) {
  switch (letter) {
    case 's': return std::chrono::seconds(1);
    case 'm': return std::chrono::minutes(1);
    case 'h': return std::chrono::hours(1);
    case 'd': return std::chrono::days(1);
    case 'w': return std::chrono::weeks(1);
    default: return std::nullopt;
  }
}

// At most a hundred years.
constexpr std::chrono::seconds longest = std::chrono::days(36525);

}  // namespace

Result<WallTime> parse_expiry(std::string_view text, WallTime now) {
  if (const auto moment = parse_utc_text(text)) return *moment;
  const auto wrong = [] {
    return fail(ErrorCode::invalid_argument,
                "an expiry must be a duration such as 90s, 30m, 12h, 30d or 8w, at most 100 years, or a time such as "
                "2031-05-17T09:30:00Z");
  };
  if (text.size() < 2) return wrong();
  const auto unit = unit_of(text.back());
  std::uint32_t count = 0;
  const char* digits_end = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data(), digits_end, count);
  if (!unit || error != std::errc() || end != digits_end || count == 0 || count > longest / *unit) return wrong();
  return now + count * *unit;
}

}  // namespace cloche::cli
