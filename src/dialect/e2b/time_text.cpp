#include "dialect/e2b/time_text.hpp"

#include <algorithm>

#include "core/utc_time.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::size_t second_digits = 19;  // of "2031-05-17T09:30:00"

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// "Z", "z", "+02:00", "-0530"
std::optional<std::chrono::minutes> offset_of(std::string_view text) {
  if (text == "Z" || text == "z") return std::chrono::minutes{0};
  if (text.size() == 6 && text[3] == ':') {
    const std::string joined = std::string(text.substr(0, 3)) + std::string(text.substr(4));
    return offset_of(joined);
  }
  const bool has_form =
      text.size() == 5 && (text[0] == '+' || text[0] == '-') && std::ranges::all_of(text.substr(1), is_decimal);
  if (!has_form) return std::nullopt;
  const int hours = (text[1] - '0') * 10 + (text[2] - '0');
  const int minutes = (text[3] - '0') * 10 + (text[4] - '0');
  if (hours > 23 || minutes > 59) return std::nullopt;
  const std::chrono::minutes offset{hours * 60 + minutes};
  return text[0] == '-' ? -offset : offset;
}

}  // namespace

Moment moment_at(std::chrono::milliseconds since_1970) {
  constexpr auto latest = std::chrono::floor<std::chrono::milliseconds>(std::chrono::nanoseconds::max());
  return Moment(std::min(since_1970, latest));
}

std::string to_time_text(Moment moment) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(moment);
  std::string text = to_utc_text(WallTime(whole));
  std::string fraction = std::to_string(std::chrono::floor<std::chrono::milliseconds>(moment - whole).count());
  fraction.insert(0, 3 - fraction.size(), '0');
  text.pop_back();
  return text + "." + fraction + "Z";
}

std::optional<Moment> parse_time_text(std::string_view text) {
  if (text.size() <= second_digits) return std::nullopt;
  const auto whole = parse_utc_text(std::string(text.substr(0, second_digits)) + "Z");
  // A moment counts nanoseconds, and reaches some centuries. The offset takes a day at most.
  constexpr auto farthest =
      std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds::max()) - std::chrono::days(2);
  if (!whole || std::chrono::abs(whole->time_since_epoch()) > farthest) return std::nullopt;
  text.remove_prefix(second_digits);
  std::chrono::nanoseconds fraction{0};
  if (text.front() == '.') {
    text.remove_prefix(1);
    const auto digits = static_cast<std::size_t>(std::ranges::find_if_not(text, is_decimal) - text.begin());
    if (digits == 0) return std::nullopt;
    std::int64_t unit = 100'000'000;
    for (const char digit : text.substr(0, std::min<std::size_t>(digits, 9))) {
      fraction += std::chrono::nanoseconds{(digit - '0') * unit};
      unit /= 10;
    }
    text.remove_prefix(digits);
  }
  const auto offset = offset_of(text);
  if (!offset) return std::nullopt;
  return std::chrono::time_point_cast<Moment::duration>(*whole + fraction - *offset);
}

}  // namespace cloche::dialect::e2b
