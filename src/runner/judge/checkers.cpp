#include "runner/judge/checkers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "runner/judge/excerpt.hpp"

namespace cloche::runner {

namespace {

constexpr std::string_view line_blanks = " \t\r\v\f";
constexpr std::string_view blanks = " \t\r\v\f\n";

std::string difference(std::size_t line, std::string_view expected, std::string_view got) {
  return "line " + std::to_string(line) + ": expected " + excerpt(expected) + ", got " + excerpt(got);
}
std::string missing(std::size_t line, std::string_view expected) {
  return "line " + std::to_string(line) + ": expected " + excerpt(expected) + ", but the output ends there";
}
std::string beyond(std::size_t line, std::string_view got) {
  return "line " + std::to_string(line) + ": expected the end of the output, got " + excerpt(got);
}

std::string_view without_tail(std::string_view text, std::string_view tail) {
  const auto last = text.find_last_not_of(tail);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

// Takes the first line off; the text is not empty.
std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// Words of a text, and the line each is on.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> next() {
    const auto start = rest_.find_first_not_of(blanks);
    const std::string_view skipped = rest_.substr(0, start);
    line_ += static_cast<std::size_t>(std::ranges::count(skipped, '\n'));
    rest_.remove_prefix(skipped.size());
    if (rest_.empty()) return std::nullopt;
    const std::string_view word = rest_.substr(0, rest_.find_first_of(blanks));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::size_t line() const { return line_; }

 private:
  std::string_view rest_;
  std::size_t line_ = 1;
};

template <class Same>
Comparison compare_words(std::string_view expected, std::string_view got, Same same) {
  Words wanted(expected);
  Words printed(got);
  for (;;) {
    const auto want = wanted.next();
    const auto word = printed.next();
    if (!want && !word) return Comparison::good();
    if (!want) return Comparison::bad(beyond(printed.line(), *word));
    if (!word) return Comparison::bad(missing(printed.line(), *want));
    if (!same(*want, *word)) return Comparison::bad(difference(printed.line(), *want, *word));
  }
}

// For a decimal number that does not fit in a double: is it too large, or practically zero?
bool is_tiny(std::string_view digits) {
  const auto exponent_at = digits.find_first_of("eE");
  long long exponent = 0;
  if (exponent_at != std::string_view::npos) {
    std::string_view text = digits.substr(exponent_at + 1);
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    if (std::from_chars(text.begin(), text.end(), exponent).ec != std::errc()) exponent = 1'000'000'000'000;
    if (negative) exponent = -exponent;
  }
  const std::string_view mantissa = digits.substr(0, exponent_at);
  const auto point = std::min(mantissa.find('.'), mantissa.size());
  const auto significant = mantissa.find_first_of("123456789");
  if (significant == std::string_view::npos) return true;
  return static_cast<long long>(point) - static_cast<long long>(significant) + exponent < 0;
}

// A whole word as a number; nullopt if it is not a number. Independent of the locale.
std::optional<double> parse_number(std::string_view word) {
  double sign = 1;
  if (word.starts_with('+') || word.starts_with('-')) {
    sign = word[0] == '-' ? -1 : 1;
    word.remove_prefix(1);
  }
  if (word.empty() || word[0] == '-') return std::nullopt;
  double value = 0;
  const auto parsed = std::from_chars(word.begin(), word.end(), value);
  if (parsed.ptr != word.end()) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) {
    return sign * (is_tiny(word) ? 0 : std::numeric_limits<double>::infinity());
  }
  if (parsed.ec != std::errc()) return std::nullopt;
  return sign * value;
}

bool is_near(double expected, double got, Tolerance tolerance) {
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return expected == got;
  const double distance = std::abs(expected - got);  // infinite at worst, which is near nothing
  return distance <= tolerance.absolute || distance <= tolerance.relative * std::abs(expected);
}

}  // namespace

Comparison compare_exactly(std::string_view expected, std::string_view got) {
  if (expected == got) return Comparison::good();
  const auto [want, have] = std::ranges::mismatch(expected, got);
  const auto at = static_cast<std::size_t>(have - got.begin());
  const std::string_view before = got.substr(0, at);
  const std::size_t line = 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
  if (want == expected.end()) return Comparison::bad(beyond(line, got.substr(at)));
  if (have == got.end()) return Comparison::bad(missing(line, expected.substr(at)));
  return Comparison::bad(difference(line, expected.substr(at), got.substr(at)));
}

Comparison compare_trimmed(std::string_view expected, std::string_view got) {
  expected = without_tail(expected, blanks);
  got = without_tail(got, blanks);
  for (std::size_t line = 1; !expected.empty() || !got.empty(); ++line) {
    const bool has_want = !expected.empty();
    const bool has_got = !got.empty();
    const std::string_view want = has_want ? without_tail(take_line(expected), line_blanks) : std::string_view();
    const std::string_view have = has_got ? without_tail(take_line(got), line_blanks) : std::string_view();
    if (!has_want) return Comparison::bad(beyond(line, have));
    if (!has_got) return Comparison::bad(missing(line, want));
    if (want != have) return Comparison::bad(difference(line, want, have));
  }
  return Comparison::good();
}

Comparison compare_tokens(std::string_view expected, std::string_view got) {
  return compare_words(expected, got, [](std::string_view want, std::string_view word) { return want == word; });
}

Comparison compare_numbers(std::string_view expected, std::string_view got, Tolerance tolerance) {
  return compare_words(expected, got, [&](std::string_view want, std::string_view word) {
    if (want == word) return true;
    const auto wanted = parse_number(want);
    const auto printed = parse_number(word);
    return wanted && printed && is_near(*wanted, *printed, tolerance);
  });
}

Comparison compare(const Checker& checker, std::string_view expected, std::string_view got) {
  switch (checker.kind) {
    case Checker::Kind::exact: return compare_exactly(expected, got);
    case Checker::Kind::trimmed: return compare_trimmed(expected, got);
    case Checker::Kind::tokens: return compare_tokens(expected, got);
    case Checker::Kind::numbers: return compare_numbers(expected, got, checker.tolerance);
    case Checker::Kind::program: break;
  }
  return Comparison::bad("this checker is a separate program");
}

}  // namespace cloche::runner
