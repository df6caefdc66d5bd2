#include "cli/client/server_place.hpp"

#include <algorithm>
#include <charconv>

namespace cloche::cli {

namespace {

constexpr const char* authorities_of_system = "/etc/ssl/certs/ca-certificates.crt";

struct HostAndPort {
  std::string host;
  std::string port;
};

std::unexpected<Error> refused(std::string_view text) {
  // A password in a URL is not repeated.
  const std::string shown = text.find('@') == text.npos ? "`" + std::string(text) + "` " : "this ";
  return fail(ErrorCode::invalid_argument,
              shown + "is not a service address: write http://HOST:PORT, https://HOST:PORT or unix:/PATH");
}

bool is_port(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1 && number <= 65'535;
}

bool is_host(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == ':' || c == '%';
  };
  return !text.empty() && std::ranges::all_of(text, fits);
}

Result<HostAndPort> split(std::string_view authority, std::string_view whole, const char* usual_port) {
  HostAndPort place;
  std::string_view port;
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == authority.npos) return refused(whole);
    place.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else {
    const auto colon = std::min(authority.find(':'), authority.size());
    place.host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  if (!is_host(place.host)) return refused(whole);
  if (port.empty()) {
    place.port = usual_port;
    return place;
  }
  port.remove_prefix(1);
  if (authority[authority.size() - port.size() - 1] != ':' || !is_port(port)) return refused(whole);
  place.port = port;
  return place;
}

}  // namespace

Result<http::Endpoint> parse_server_place(std::string_view text, const std::string& authority) {
  constexpr std::string_view plain = "http://";
  constexpr std::string_view secure = "https://";
  constexpr std::string_view local = "unix:";
  if (text.starts_with(local)) {
    std::string_view path = text.substr(local.size());
    if (path.starts_with("///")) path.remove_prefix(2);
    if (path.empty() || path.starts_with("//") || path.find('\0') != path.npos) return refused(text);
    return http::UnixEndpoint{std::string(path)};
  }
  const bool is_secure = text.starts_with(secure);
  if (!is_secure && !text.starts_with(plain)) return refused(text);
  std::string_view rest = text.substr(is_secure ? secure.size() : plain.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  CLOCHE_TRY(HostAndPort place, split(rest, text, is_secure ? "443" : "80"));
  if (!is_secure) return http::TcpEndpoint{std::move(place.host), std::move(place.port)};
  http::TlsEndpoint endpoint;
  endpoint.host = std::move(place.host);
  endpoint.port = std::move(place.port);
  endpoint.files.authority = authority.empty() ? authorities_of_system : authority;
  return endpoint;
}

}  // namespace cloche::cli
