#include "core/bytes.hpp"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <limits>

#include "core/text.hpp"

namespace cloche {

Result<Bytes> parse_bytes(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::invalid_argument,
                "'" + std::string(text) + "' is not a number of bytes; write it like 512m, 64k, 1g or 4096");
  };
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return bad();

  std::string unit;
  for (char c : text.substr(static_cast<std::size_t>(end - text.data()))) {
    if (c != ' ') unit += lower(c);
  }
  int shift = 0;
  if (unit.empty() || unit == "b") {
    shift = 0;
  } else if (unit == "k" || unit == "kb" || unit == "kib") {
    shift = 10;
  } else if (unit == "m" || unit == "mb" || unit == "mib") {
    shift = 20;
  } else if (unit == "g" || unit == "gb" || unit == "gib") {
    shift = 30;
  } else if (unit == "t" || unit == "tb" || unit == "tib") {
    shift = 40;
  } else {
    return bad();
  }
  if (number > (std::numeric_limits<std::uint64_t>::max() >> shift)) return bad();
  return Bytes{number << shift};
}

std::string to_string(Bytes bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes.count);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", value, units[unit]);
  return text;
}

}  // namespace cloche
