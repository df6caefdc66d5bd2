#include "runner/autograder/app_url.hpp"

#include <cctype>
#include <charconv>

#include "runner/judge/excerpt.hpp"

namespace cloche::runner {

namespace {

void append_percent(std::string& to, char c) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  to.append(1, '%').append(1, digits[byte >> 4]).append(1, digits[byte & 0xf]);
}

// Characters that are never encoded.
bool is_unreserved(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_' || c == '~';
}

void append_form_text(std::string& to, std::string_view text) {
  for (const char c : text) {
    if (c == ' ') {
      to += '+';
    } else if (is_unreserved(c)) {
      to += c;
    } else {
      append_percent(to, c);
    }
  }
}

Result<AppTarget> refused(std::string_view endpoint, const char* why) {
  return fail(ErrorCode::invalid_argument, "invalid endpoint: " + excerpt(endpoint) + ": " + why);
}

}  // namespace

Result<AppTarget> parse_app_target(std::string_view endpoint, std::uint16_t default_port) {
  AppTarget target;
  target.port = default_port;
  std::string_view rest = endpoint;
  constexpr std::string_view scheme = "http://";
  if (rest.starts_with("https://")) return refused(endpoint, "https is not supported; use http");
  if (rest.starts_with(scheme)) {
    rest.remove_prefix(scheme.size());
    const auto authority = rest.substr(0, rest.find_first_of("/?#"));
    rest.remove_prefix(authority.size());
    const auto host = authority.substr(0, authority.find(':'));
    if (host != "localhost" && host != "127.0.0.1") return refused(endpoint, "the host must be localhost or 127.0.0.1");
    std::uint16_t port = 80;
    if (host.size() < authority.size()) {
      const auto text = authority.substr(host.size() + 1);
      const auto parsed = std::from_chars(text.begin(), text.end(), port);
      if (parsed.ec != std::errc() || parsed.ptr != text.end() || port == 0) return refused(endpoint, "invalid port");
    }
    target.port = port;
  }
  rest = rest.substr(0, rest.find('#'));
  if (!rest.starts_with('/')) target.target = "/";
  for (const char c : rest) {
    if (c > 0x20 && c < 0x7f) {
      target.target += c;
    } else {
      append_percent(target.target, c);
    }
  }
  return target;
}

std::string form_encoded(const NameValues& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    if (!text.empty()) text += '&';
    append_form_text(text, name);
    text += '=';
    append_form_text(text, value);
  }
  return text;
}

void add_params(AppTarget& target, const NameValues& params) {
  if (params.empty()) return;
  target.target += target.target.find('?') == std::string::npos ? '?' : '&';
  target.target += form_encoded(params);
}

}  // namespace cloche::runner
