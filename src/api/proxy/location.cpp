#include "api/proxy/location.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <optional>

#include "http/grammar.hpp"

namespace cloche::api {

namespace {

std::unexpected<Error> ambiguous(std::string_view why) {
  return fail(ErrorCode::protocol, "it redirects to an ambiguous URL: " + std::string(why));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_slash(char c) { return c == '/' || c == '\\'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char low = lower(c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool encoded =
        text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0;
    if (!encoded) {
      decoded += text[i];
      continue;
    }
    decoded += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
    i += 2;
  }
  return decoded;
}

// One number of an IPv4 address: decimal, octal with a leading 0, hexadecimal with 0x.
std::optional<std::uint64_t> ipv4_number(std::string_view text) {
  int base = 10;
  if (text.size() >= 2 && text[0] == '0' && lower(text[1]) == 'x') {
    text.remove_prefix(2);
    base = 16;
  } else if (text.size() >= 2 && text[0] == '0') {
    text.remove_prefix(1);
    base = 8;
  }
  if (text.empty()) return 0;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Clients take a host whose last part is a number for an IPv4 address, however it is written.
Result<std::string> canonical_host(std::string host) {
  while (host.ends_with('.')) host.pop_back();
  if (host.empty()) return fail(ErrorCode::invalid_argument, "empty host");
  const auto parts = split(host, '.');
  const std::string_view last = parts.back();
  const bool is_number = std::ranges::all_of(last, is_digit) || last.starts_with("0x");
  if (!is_number) return host;
  if (parts.size() > 4) return fail(ErrorCode::invalid_argument, "IPv4 address with too many parts");
  std::uint64_t address = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = ipv4_number(parts[i]);
    const bool is_last = i + 1 == parts.size();
    const std::uint64_t most = is_last ? (std::uint64_t{1} << (8 * (5 - parts.size()))) - 1 : 255;
    if (!number || *number > most) return fail(ErrorCode::invalid_argument, "invalid IP address");
    address += is_last ? *number : *number << (8 * (3 - i));
  }
  return boost::asio::ip::address_v4(static_cast<std::uint32_t>(address)).to_string();
}

Result<std::string> canonical_ipv6(std::string_view text) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address_v6(std::string(text), error);
  if (error) return fail(ErrorCode::invalid_argument, "invalid IP address");
  if (address.is_v4_mapped()) {
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address).to_string();
  }
  return address.to_string();
}

// This machine, as seen from itself: addresses that are not set reach it as well.
bool is_this_machine(const std::string& host) {
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  return !error && (address.is_loopback() || address.is_unspecified());
}

struct UrlParts {
  std::string_view path;
  std::string_view rest;  // from '?' or '#' on
};

UrlParts split_path(std::string_view text) {
  const auto end = std::min(text.find_first_of("?#"), text.size());
  return {text.substr(0, end), text.substr(end)};
}

enum class Dots { none, one, two };

Dots dots_of(std::string_view segment) {
  std::string plain;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const bool encoded =
        segment[i] == '%' && i + 2 < segment.size() && segment[i + 1] == '2' && lower(segment[i + 2]) == 'e';
    plain += encoded ? '.' : segment[i];
    if (encoded) i += 2;
  }
  if (plain == ".") return Dots::one;
  return plain == ".." ? Dots::two : Dots::none;
}

// What a proxy that decodes slashes too early would take for a parent directory.
bool hides_dots(std::string_view segment) {
  std::string decoded = percent_decoded(segment);
  std::ranges::replace(decoded, '\\', '/');
  if (decoded.find('/') == std::string::npos) return false;
  return std::ranges::any_of(split(decoded, '/'), [](std::string_view part) { return part == "." || part == ".."; });
}

// An absolute path without dot segments; those that lead above the root end at it.
Result<std::string> resolved(std::string_view path) {
  std::vector<std::string_view> kept;
  const auto segments = split(path.substr(1), '/');
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool is_last = i + 1 == segments.size();
    const Dots dots = dots_of(segments[i]);
    if (hides_dots(segments[i])) return ambiguous("dot segments between encoded slashes");
    if (dots == Dots::two && !kept.empty()) kept.pop_back();
    if (dots == Dots::none) kept.push_back(segments[i]);
    if (dots != Dots::none && is_last) kept.emplace_back();
  }
  std::string clean;
  for (const std::string_view segment : kept) {
    clean += '/';
    for (const char c : segment) clean += c == ' ' ? std::string("%20") : std::string(1, c);
  }
  return clean.empty() ? "/" : clean;
}

bool is_below(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

// A path of the server itself. One that has the prefix already was written by a server that knows of it.
Result<std::string> placed(std::string_view path, std::string_view rest, const ProxyPlace& place) {
  CLOCHE_TRY(const std::string clean, resolved(path));
  const std::string placed = is_below(clean, place.prefix) ? clean : place.prefix + clean;
  return placed + std::string(rest);
}

std::uint16_t default_port(std::string_view scheme) { return same_word(scheme, "https") ? 443 : 80; }

bool is_own_server(const HostPort& at, std::string_view scheme, const ProxyPlace& place) {
  if (!is_this_machine(at.host) || same_word(scheme, "https")) return false;
  return (at.port == 0 ? 80 : at.port) == place.port;
}

bool is_service(const HostPort& at, std::string_view scheme, const ProxyPlace& place) {
  return std::ranges::any_of(place.service, [&](const HostPort& name) {
    const bool same_host = name.host == at.host || (is_this_machine(name.host) && is_this_machine(at.host));
    if (!same_host) return false;
    // A name without a port may be the service's by either scheme.
    const bool is_default = at.port == 0 || at.port == 80 || at.port == 443;
    if (name.port == 0) return is_default;
    if (at.port == 0 && scheme.empty()) return name.port == 80 || name.port == 443;
    return name.port == (at.port == 0 ? default_port(scheme) : at.port);
  });
}

// "//host:port/path", after the scheme if there is one.
Result<std::string> elsewhere(std::string_view scheme, std::string_view text, std::string_view whole,
                              const ProxyPlace& place) {
  const std::string_view after = text.substr(2);
  const auto end = std::min(after.find_first_of("/\\?#"), after.size());
  const auto at = parse_authority(after.substr(0, end));
  if (!at) return ambiguous(at.error().message);
  if (end < after.size() && after[end] == '\\') return ambiguous("backslash after the host");
  const UrlParts parts = split_path(after.substr(end));
  if (parts.path.find('\\') != std::string_view::npos) return ambiguous("backslash in the path");
  const std::string_view path = parts.path.empty() ? "/" : parts.path;
  // The service first: where both are on one port of this machine, the client can only mean the service.
  if (is_service(*at, scheme, place)) {
    CLOCHE_TRY(const std::string clean, resolved(path));
    if (is_below(clean, place.prefix)) return clean + std::string(parts.rest);
    if (!is_own_server(*at, scheme, place)) {
      return fail(ErrorCode::protocol, "it redirects to a URL of this service outside its own prefix");
    }
  }
  if (is_own_server(*at, scheme, place)) return placed(path, parts.rest, place);
  return std::string(whole);
}

// The name of a scheme before the first colon; empty if there is none.
std::string_view scheme_of(std::string_view url) {
  const auto colon = url.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_letter(url[0])) return {};
  const std::string_view scheme = url.substr(0, colon);
  const bool is_scheme = std::ranges::all_of(
      scheme, [](char c) { return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.'; });
  return is_scheme ? scheme : std::string_view();
}

// What clients remove before they parse a URL.
std::string without_noise(std::string_view url) {
  while (!url.empty() && static_cast<unsigned char>(url.front()) <= ' ') url.remove_prefix(1);
  while (!url.empty() && static_cast<unsigned char>(url.back()) <= ' ') url.remove_suffix(1);
  std::string clean;
  for (const char c : url) {
    if (c != '\t' && c != '\r' && c != '\n') clean += c;
  }
  return clean;
}

Result<std::string> relative(std::string url, const ProxyPlace& place) {
  const UrlParts parts = split_path(url);
  std::string path(parts.path);
  std::ranges::replace(path, '\\', '/');
  if (path.empty()) return url;  // the same resource
  if (path.starts_with("//")) {
    const bool had_backslash = parts.path.find('\\') != std::string_view::npos;
    if (had_backslash || path.starts_with("///")) return ambiguous("extra slashes before the host");
    return elsewhere("", url, url, place);
  }
  if (path.starts_with('/')) return placed(path, parts.rest, place);
  const auto directory = place.path.rfind('/');
  return placed(place.path.substr(0, directory + 1) + path, parts.rest, place);
}

// The first of a comma-separated list.
std::string_view first_of_list(std::string_view list) {
  return http::without_blanks_around(list.substr(0, list.find(',')));
}

// host= of a Forwarded field; all elements are checked.
std::vector<std::string> forwarded_hosts(std::string_view field) {
  std::vector<std::string> hosts;
  std::string text(field);
  std::ranges::replace(text, ',', ';');
  for (std::string_view part : split(text, ';')) {
    part = http::without_blanks_around(part);
    if (part.size() < 5 || !same_word(part.substr(0, 5), "host=")) continue;
    std::string host(part.substr(5));
    std::erase(host, '"');
    hosts.push_back(std::move(host));
  }
  return hosts;
}

}  // namespace

Result<HostPort> parse_authority(std::string_view text) {
  const bool clear = std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("-._:[]~").find(c) != std::string_view::npos;
  });
  if (!clear) return fail(ErrorCode::invalid_argument, "invalid characters in the host");
  HostPort at;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return fail(ErrorCode::invalid_argument, "invalid IP address");
    CLOCHE_TRY(at.host, canonical_ipv6(text.substr(1, end - 1)));
    port = text.substr(end + 1);
  } else {
    const auto colon = std::min(text.find(':'), text.size());
    std::string host = lower(text.substr(0, colon));
    CLOCHE_TRY(at.host, canonical_host(std::move(host)));
    port = text.substr(colon);
  }
  if (port.empty() || port == ":") return at;
  if (!port.starts_with(':')) return fail(ErrorCode::invalid_argument, "invalid IP address");
  port.remove_prefix(1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), at.port);
  if (error != std::errc() || end != port.data() + port.size() || at.port == 0) {
    return fail(ErrorCode::invalid_argument, "invalid port");
  }
  return at;
}

std::vector<HostPort> names_of_service(const http::Fields& request, const http::Peer& peer) {
  std::vector<HostPort> names;
  const auto add = [&](std::string_view text) {
    if (auto name = parse_authority(text)) names.push_back(*std::move(name));
  };
  for (const auto& [name, value] : request) {
    if (same_word(name, "Host")) add(value);
    if (same_word(name, "X-Forwarded-Host")) {
      for (const std::string_view each : split(value, ',')) add(first_of_list(each));
    }
    if (same_word(name, "Forwarded")) {
      for (const std::string& each : forwarded_hosts(value)) add(each);
    }
  }
  if (!peer.local_address.empty()) {
    const bool v6 = peer.local_address.find(':') != std::string::npos;
    const std::string host = v6 ? "[" + peer.local_address + "]" : peer.local_address;
    add(host + ":" + std::to_string(peer.local_port));
    // A client on this machine has more names for it.
    names.push_back({"localhost", peer.local_port});
  }
  return names;
}

Result<std::string> proxied_url(std::string_view given, const ProxyPlace& place) {
  std::string url = without_noise(given);
  const std::string_view scheme = scheme_of(url);
  if (scheme.empty()) return relative(std::move(url), place);
  const bool is_http = same_word(scheme, "http") || same_word(scheme, "https");
  if (!is_http) return url;
  const std::string_view text = std::string_view(url).substr(scheme.size() + 1);
  // With fewer, more or different slashes, clients disagree whether this is a host or a path.
  const bool has_host = text.starts_with("//") && text.size() > 2 && !is_slash(text[2]);
  if (!has_host) return ambiguous("missing host after the scheme");
  return elsewhere(scheme, text, url, place);
}

}  // namespace cloche::api
