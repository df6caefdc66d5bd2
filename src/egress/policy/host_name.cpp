#include "egress/policy/host_name.hpp"

#include <algorithm>

#include "core/file_error.hpp"
#include "core/text.hpp"

namespace cloche::egress {

namespace {

constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_number(std::string_view label) {
  if (label.starts_with("0x")) return true;
  return std::ranges::all_of(label, is_digit);
}

bool is_label(std::string_view label) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_'; };
  return !label.empty() && label.size() <= longest_label && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, allowed);
}

}  // namespace

Result<std::string> normalize_host(std::string_view name) {
  const auto invalid = [&](std::string_view why) {
    return fail(ErrorCode::invalid_argument, "invalid host name `" + shown(name) + "`: " + std::string(why));
  };
  std::string host = lower(name);
  if (host.ends_with('.')) host.pop_back();
  if (host.empty()) return invalid("it is empty");
  if (host.size() > longest_name) return invalid("it is longer than 253 characters");
  std::string_view rest = host;
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string_view label = rest.substr(0, dot);
    if (!is_label(label)) {
      return invalid("a label is 1 to 63 letters, digits, `-` or `_`, and does not start or end with `-`");
    }
    if (dot == std::string_view::npos) {
      if (is_number(label)) return invalid("its last label is a number, so it could be taken for an address");
      return host;
    }
    rest.remove_prefix(dot + 1);
  }
}

bool is_below(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() + 1 && name.ends_with(suffix) && name[name.size() - suffix.size() - 1] == '.';
}

}  // namespace cloche::egress
