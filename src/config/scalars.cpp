#include "config/scalars.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

namespace cloche::config {

namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

template <class T>
std::optional<T> converted(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::uint64_t> parse_whole(std::string_view text) {
  if (!all_digits(text)) return std::nullopt;
  return converted<std::uint64_t>(text);
}

std::optional<double> parse_real(std::string_view text) {
  const auto dot = text.find('.');
  if (!all_digits(text.substr(0, dot))) return std::nullopt;
  if (dot != text.npos && !all_digits(text.substr(dot + 1))) return std::nullopt;
  const auto value = converted<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto unit_at = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit = text.substr(unit_at);
  double unit_ms = 0;
  if (unit == "ms") {
    unit_ms = 1;
  } else if (unit.empty() || unit == "s") {
    unit_ms = 1000;
  } else if (unit == "m") {
    unit_ms = 60'000;
  } else if (unit == "h") {
    unit_ms = 3'600'000;
  } else {
    return std::nullopt;
  }
  const auto number = parse_real(text.substr(0, unit_at));
  if (!number) return std::nullopt;
  const double ms = std::round(*number * unit_ms);
  // A value that is not zero does not become zero.
  if (ms > static_cast<double>(longest_duration.count()) || (ms == 0 && *number > 0)) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(ms));
}

std::string to_text(std::chrono::milliseconds duration) {
  const auto ms = duration.count();
  if (ms % 3'600'000 == 0 && ms != 0) return std::to_string(ms / 3'600'000) + "h";
  if (ms % 60'000 == 0 && ms != 0) return std::to_string(ms / 60'000) + "m";
  if (ms % 1000 == 0) return std::to_string(ms / 1000) + "s";
  return std::to_string(ms) + "ms";
}

}  // namespace cloche::config
