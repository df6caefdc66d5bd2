#include "api/proxy/head.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/files/content.hpp"
#include "http/server/answer_head.hpp"

namespace cloche::api {

namespace {

// Not the sandbox's business: what proves who the client is, and what this connection alone is about.
constexpr std::array<std::string_view, 8> not_forwarded{
    "Authorization", "Cookie", "Cookie2", "Expect", "Host", "X-Request-Id", "X-Forwarded-Host", "X-Forwarded-Prefix"};

// What a browser would take as said by, or of, our whole origin; and what the server writes itself.
constexpr std::array<std::string_view, 18> not_passed_back{"Set-Cookie",
                                                           "Set-Cookie2",
                                                           "Clear-Site-Data",
                                                           "Strict-Transport-Security",
                                                           "Public-Key-Pins",
                                                           "Alt-Svc",
                                                           "Service-Worker-Allowed",
                                                           "NEL",
                                                           "Report-To",
                                                           "Reporting-Endpoints",
                                                           "Origin-Agent-Cluster",
                                                           "WWW-Authenticate",
                                                           "Authentication-Info",
                                                           "X-Content-Type-Options",
                                                           "Cross-Origin-Resource-Policy",
                                                           "Refresh",
                                                           "Date",
                                                           "X-Request-Id"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view each) { return http::same_word(each, name); });
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && http::same_word(text.substr(0, word.size()), word);
}

// An absolute URL of the server itself, as a path; the location itself when it is another.
std::string_view without_own_host(std::string_view location, std::uint16_t port) {
  for (const std::string_view host : {"localhost", "127.0.0.1", "[::1]"}) {
    std::string own = "http://" + std::string(host);
    if (port != 80) own += ":" + std::to_string(port);
    if (!starts_with_word(location, own)) continue;
    const std::string_view rest = location.substr(own.size());
    if (rest.empty()) return "/";
    if (rest.starts_with('/')) return rest;
  }
  return location;
}

std::string proxied_location(std::string_view location, std::string_view prefix, std::uint16_t port) {
  const std::string_view path = without_own_host(location, port);
  // "//elsewhere" is another host, with a backslash too for browsers.
  const bool is_path = path.starts_with('/') && !path.starts_with("//") && !path.starts_with("/\\");
  return is_path ? std::string(prefix).append(path) : std::string(path);
}

}  // namespace

Result<std::uint16_t> read_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) {
    return fail(ErrorCode::invalid_argument, "the port must be a number from 1 to 65535");
  }
  return port;
}

std::string serialise_proxy_head(const ProxyHead& head) {
  // Method, target and fields came through the server's strict reader: none can break out of its line.
  std::string text = head.method + " " + head.target + " HTTP/1.1\r\n";
  const auto add = [&](std::string_view name, std::string_view value) {
    text.append(name).append(": ").append(value).append("\r\n");
  };
  add("Host", "localhost:" + std::to_string(head.port));
  for (const auto& [name, value] : http::without_hop_by_hop(head.fields)) {
    if (!is_one_of(not_forwarded, name)) add(name, value);
  }
  add("X-Forwarded-Prefix", head.prefix);
  if (head.upgrades) {
    add("Connection", "Upgrade");
    add("Upgrade", "websocket");
  } else {
    add("Connection", "close");
  }
  if (head.length) {
    add("Content-Length", std::to_string(*head.length));
  } else if (head.has_body) {
    add("Transfer-Encoding", "chunked");
  }
  return text += "\r\n";
}

http::Fields proxied_answer_fields(const http::Fields& fields, std::string_view prefix, std::uint16_t port) {
  http::Fields passed;
  for (const auto& [name, value] : http::without_hop_by_hop(fields)) {
    if (is_one_of(not_passed_back, name) || starts_with_word(name, "Access-Control-")) continue;
    if (!http::is_token(name) || !http::is_field_value(value)) continue;
    const bool leads_on = http::same_word(name, "Location") || http::same_word(name, "Content-Location");
    passed.emplace_back(name, leads_on ? proxied_location(value, prefix, port) : value);
  }
  add_untrusted_content_fields(passed);
  return passed;
}

http::Fields proxied_upgrade_fields(const http::Fields& fields) {
  http::Fields passed;
  passed.emplace_back("Upgrade", "websocket");
  for (const char* name : {"Sec-WebSocket-Accept", "Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions"}) {
    const std::string_view value = http::field_value(fields, name);
    if (!value.empty() && http::is_field_value(value)) passed.emplace_back(name, value);
  }
  return passed;
}

}  // namespace cloche::api
