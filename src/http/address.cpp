#include "http/address.hpp"

#include <algorithm>
#include <charconv>

namespace cloche::http {

namespace {

std::unexpected<Error> refused(std::string_view url) {
  // A password in a URL is not repeated.
  const std::string shown = url.find('@') == url.npos ? "'" + std::string(url.substr(0, 200)) + "' " : "this ";
  return fail(ErrorCode::invalid_argument, shown + "is not an address: write http://HOST:PORT or https://HOST");
}

bool is_port(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= 65'535;
}

bool is_host_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  };
  return !text.empty() && text.size() <= 253 && text.front() != '.' && text.front() != '-' &&
         std::ranges::all_of(text, fits);
}

bool is_address_of_ip6(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.'; };
  return !text.empty() && std::ranges::all_of(text, fits);
}

bool is_prefix(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == '/' || c == '~';
  };
  return std::ranges::all_of(text, fits);
}

struct HostAndPort {
  std::string host;
  std::string port;
};

Result<HostAndPort> split(std::string_view authority, std::string_view url, std::string_view usual_port) {
  HostAndPort place;
  std::string_view port;
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == authority.npos || !is_address_of_ip6(authority.substr(1, end - 1))) return refused(url);
    place.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else {
    const auto colon = std::min(authority.find(':'), authority.size());
    place.host = authority.substr(0, colon);
    port = authority.substr(colon);
    if (!is_host_name(place.host)) return refused(url);
  }
  place.port = usual_port;
  if (port.empty()) return place;
  if (!port.starts_with(':') || !is_port(port.substr(1))) return refused(url);
  place.port = port.substr(1);
  return place;
}

}  // namespace

Result<Address> parse_address(std::string_view url, const std::string& certificates) {
  constexpr std::string_view plain = "http://";
  constexpr std::string_view secure = "https://";
  constexpr std::string_view local = "unix:/";
  Address address;
  if (url.starts_with(local)) {
    const std::string_view path = url.substr(local.size() - 1);
    if (path.starts_with("//") || path.find('\0') != path.npos) return refused(url);
    address.endpoint = UnixEndpoint{std::string(path)};
    return address;
  }
  const bool is_secure = url.starts_with(secure);
  if (!is_secure && !url.starts_with(plain)) return refused(url);
  std::string_view rest = url.substr(is_secure ? secure.size() : plain.size());
  const auto slash = std::min(rest.find('/'), rest.size());
  std::string_view prefix = rest.substr(slash);
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (!is_prefix(prefix)) return refused(url);
  address.prefix = prefix;
  CLOCHE_TRY(HostAndPort place, split(rest.substr(0, slash), url, is_secure ? "443" : "80"));
  if (is_secure) {
    TlsEndpoint endpoint;
    endpoint.host = std::move(place.host);
    endpoint.port = std::move(place.port);
    endpoint.files.authority = certificates;
    address.endpoint = std::move(endpoint);
  } else {
    address.endpoint = TcpEndpoint{std::move(place.host), std::move(place.port)};
  }
  return address;
}

bool is_domain(std::string_view text) {
  const auto colon = std::min(text.find(':'), text.size());
  if (!is_host_name(text.substr(0, colon))) return false;
  return colon == text.size() || is_port(text.substr(colon + 1));
}

}  // namespace cloche::http
