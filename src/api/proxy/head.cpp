#include "api/proxy/head.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/files/content.hpp"
#include "http/server/answer/answer_head.hpp"

namespace cloche::api {

namespace {

// Fields that are not forwarded to the sandbox: credentials of the client, fields about this connection only, and what
// proxies in front of the service add about the client.
constexpr std::array<std::string_view, 16> not_forwarded{"Authorization",
                                                         "Cookie",
                                                         "Cookie2",
                                                         "Expect",
                                                         "Forwarded",
                                                         "Host",
                                                         "Via",
                                                         "X-Request-Id",
                                                         "X-Real-IP",
                                                         "X-Client-IP",
                                                         "True-Client-IP",
                                                         "CF-Connecting-IP",
                                                         "X-Original-URL",
                                                         "X-Rewrite-URL",
                                                         "X-Auth-Token",
                                                         "X-Client-Cert"};
constexpr std::array<std::string_view, 3> not_forwarded_families{"X-Forwarded-", "X-SSL-", "SSL-Client-"};

// Fields of an answer that say something of this content alone. All else stays here: a browser might take it as said by
// our whole origin, a proxy in front of us as said by us, and new fields of that kind are made every year.
constexpr std::array<std::string_view, 50> passed_back{"Accept-Patch",
                                                       "Accept-Post",
                                                       "Accept-Ranges",
                                                       "Age",
                                                       "Allow",
                                                       "Cache-Control",
                                                       "Content-Digest",
                                                       "Content-Disposition",
                                                       "Content-Encoding",
                                                       "Content-Language",
                                                       "Content-MD5",
                                                       "Content-Range",
                                                       "Content-Security-Policy",
                                                       "Content-Type",
                                                       "Cross-Origin-Embedder-Policy",
                                                       "Cross-Origin-Opener-Policy",
                                                       "DAV",
                                                       "Deprecation",
                                                       "Digest",
                                                       "ETag",
                                                       "Expires",
                                                       "Last-Modified",
                                                       "Lock-Token",
                                                       "Permissions-Policy",
                                                       "Pragma",
                                                       "Preference-Applied",
                                                       "Ratelimit",
                                                       "Ratelimit-Limit",
                                                       "Ratelimit-Policy",
                                                       "Ratelimit-Remaining",
                                                       "Ratelimit-Reset",
                                                       "Referrer-Policy",
                                                       "Repr-Digest",
                                                       "Retry-After",
                                                       "Server",
                                                       "Server-Timing",
                                                       "Sunset",
                                                       "Traceparent",
                                                       "Tracestate",
                                                       "Vary",
                                                       "Warning",
                                                       "X-Frame-Options",
                                                       "Upload-Complete",
                                                       "Upload-Expires",
                                                       "Upload-Length",
                                                       "Upload-Limit",
                                                       "Upload-Metadata",
                                                       "Upload-Offset",
                                                       "Idempotency-Key",
                                                       "Last-Event-ID"};
// Protocols on top of HTTP name their own.
constexpr std::array<std::string_view, 4> passed_back_families{"X-", "Grpc-", "Mcp-", "Tus-"};
// Fields of those families that proxies, or browsers, act on.
constexpr std::array<std::string_view, 14> never_passed_back{"X-Content-Type-Options",
                                                             "X-Content-Security-Policy",
                                                             "X-DNS-Prefetch-Control",
                                                             "X-Lighttpd-Send-File",
                                                             "X-Lighttpd-Send-Tempfile",
                                                             "X-Original-URL",
                                                             "X-Permitted-Cross-Domain-Policies",
                                                             "X-Real-IP",
                                                             "X-Request-Id",
                                                             "X-Rewrite-URL",
                                                             "X-Sendfile",
                                                             "X-Sendfile2",
                                                             "X-SourceMap",
                                                             "X-Webkit-CSP"};
constexpr std::array<std::string_view, 6> never_passed_back_families{"X-Accel-",   "X-Forwarded-", "X-Proxy-",
                                                                     "X-Reproxy-", "X-SSL-",       "X-Dispatch"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view each) { return same_word(each, name); });
}

template <std::size_t N>
bool is_of(const std::array<std::string_view, N>& families, std::string_view name) {
  return std::ranges::any_of(families, [&](std::string_view family) {
    return name.size() > family.size() && same_word(name.substr(0, family.size()), family);
  });
}

bool is_forwarded(std::string_view name, ServedAs served_as) {
  const bool is_own = same_word(name, "Authorization") || same_word(name, "Cookie");
  if (served_as == ServedAs::host && is_own) return true;
  return !is_one_of(not_forwarded, name) && !is_of(not_forwarded_families, name);
}

// A cookie for a whole domain would reach other sandboxes.
bool is_for_one_host(std::string_view cookie) {
  for (auto end = cookie.find(';'); end != std::string_view::npos; end = cookie.find(';')) {
    cookie.remove_prefix(end + 1);
    const std::string_view attribute = cookie.substr(0, cookie.find_first_of(";="));
    if (same_word(http::without_blanks_around(attribute), "Domain")) return false;
  }
  return true;
}

// Of a server with a host name of its own. What proxies act on, what the server writes itself, and what a browser
// applies to more than that name is left out.
constexpr std::array<std::string_view, 8> never_of_host{
    "Alt-Svc",      "Clear-Site-Data", "Date",       "X-Lighttpd-Send-File", "X-Lighttpd-Send-Tempfile",
    "X-Request-Id", "X-Sendfile",      "X-Sendfile2"};

bool is_passed_back_by_host(std::string_view name, std::string_view value) {
  if (is_one_of(never_of_host, name) || is_of(never_passed_back_families, name)) return false;
  return !same_word(name, "Set-Cookie") || is_for_one_host(value);
}

bool is_passed_back(std::string_view name) {
  if (is_one_of(never_passed_back, name) || is_of(never_passed_back_families, name)) return false;
  return is_one_of(passed_back, name) || is_of(passed_back_families, name);
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
  add("Host", head.host.empty() ? "localhost:" + std::to_string(head.port) : head.host);
  for (const auto& [name, value] : http::without_hop_by_hop(head.fields)) {
    if (is_forwarded(name, head.served_as)) add(name, value);
  }
  if (head.served_as == ServedAs::path) add("X-Forwarded-Prefix", head.prefix);
  const std::string_view host = http::field_value(head.fields, "Host");
  if (head.served_as == ServedAs::host && !host.empty()) add("X-Forwarded-Host", host);
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

Result<http::Fields> proxied_answer_fields(const http::Fields& fields, const ProxyPlace& place, ServedAs served_as) {
  http::Fields passed;
  std::size_t locations = 0;
  for (const auto& [name, value] : http::without_hop_by_hop(fields)) {
    if (!http::is_token(name) || !http::is_field_value(value)) continue;
    if (same_word(name, "Location")) {
      if (++locations > 1) return fail(ErrorCode::protocol, "its response has more than one Location header");
      CLOCHE_TRY(std::string location, proxied_url(value, place));
      passed.emplace_back(name, std::move(location));
    } else if (same_word(name, "Content-Location")) {
      if (auto location = proxied_url(value, place)) passed.emplace_back(name, *std::move(location));
    } else if (served_as == ServedAs::host ? is_passed_back_by_host(name, value) : is_passed_back(name)) {
      passed.emplace_back(name, value);
    }
  }
  if (served_as == ServedAs::path) add_untrusted_content_fields(passed);
  return passed;
}

ProxyPlace ProxyHead::place() const {
  ProxyPlace place;
  place.prefix = prefix;
  place.path = target.substr(0, target.find('?'));
  place.port = port;
  place.service = service;
  return place;
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
