#include "core/repeat_filter.hpp"

namespace cloche::log {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
}

// Enough to distinguish kinds.
constexpr std::size_t most_of_message = 200;
constexpr std::chrono::seconds check_interval{1};

}  // namespace

std::string kind_of(std::string_view message) {
  message = message.substr(0, most_of_message);
  std::string kind;
  for (std::size_t at = 0; at < message.size();) {
    std::size_t end = at;
    bool has_digit = false;
    for (; end < message.size() && is_of_word(message[end]); ++end) has_digit = has_digit || is_digit(message[end]);
    if (end == at) {
      kind += message[at++];
      continue;
    }
    kind += has_digit ? std::string_view("#") : message.substr(at, end - at);
    at = end;
  }
  return kind;
}

bool RepeatFilter::admit(int level, std::string_view message, Time now) {
  std::pair key(level, kind_of(message));
  if (kinds_.size() >= most_kinds && !kinds_.contains(key)) key.second.clear();
  Kind& kind = kinds_[std::move(key)];
  if (kind.written == 0) kind.since = now;
  if (kind.written < most_of_a_kind) {
    ++kind.written;
    return true;
  }
  ++kind.left_out;
  kind.last = message;
  return false;
}

std::vector<RepeatFilter::Counted> RepeatFilter::take(Due due, Time now) {
  std::vector<Counted> told;
  if (due == Due::over && now < next_look_) return told;
  next_look_ = now + check_interval;
  for (auto each = kinds_.begin(); each != kinds_.end();) {
    Kind& kind = each->second;
    if (due == Due::over && now - kind.since < window) {
      ++each;
      continue;
    }
    if (kind.left_out > 0) {
      const auto over = std::chrono::ceil<std::chrono::seconds>(now - kind.since);
      told.push_back({each->first.first, std::move(kind.last), kind.left_out, over});
    }
    each = kinds_.erase(each);
  }
  return told;
}

}  // namespace cloche::log
