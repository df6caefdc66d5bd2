#include "backend/docker/engine/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace cloche {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::isalnum(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && value >= 1 && value <= 65535;
}

}  // namespace

DockerOptions docker_options_from_environment() {
  DockerOptions options;
  if (const std::string host = environment("DOCKER_HOST"); !host.empty()) options.host = host;
  if (!environment("DOCKER_TLS_VERIFY").empty()) {
    options.certificates = environment("DOCKER_CERT_PATH");
    if (options.certificates.empty()) options.certificates = environment("HOME") + "/.docker";
  }
  return options;
}

namespace docker {

Result<http::Endpoint> engine_endpoint(const DockerOptions& options) {
  const std::string& host = options.host;
  const auto refused = [&](ErrorCode code, const std::string& why) {
    return fail(code, "engine host '" + host + "': " + why + "; use unix:///path/of/docker.sock or tcp://host:port");
  };
  if (host.starts_with("unix://")) {
    const std::string path = host.substr(7);
    if (!path.starts_with('/')) return refused(ErrorCode::invalid_argument, "the socket path must be absolute");
    return http::UnixEndpoint{path};
  }
  if (!host.starts_with("tcp://")) return refused(ErrorCode::unsupported, "only unix and tcp are supported");
  std::string name = host.substr(6), port = options.certificates.empty() ? "2375" : "2376";
  if (name.ends_with('/')) name.pop_back();
  const auto bracket = name.rfind(']');
  const auto colon = name.rfind(':');
  if (colon != name.npos && (bracket == name.npos || colon > bracket)) {
    port = name.substr(colon + 1);
    name.resize(colon);
  }
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  const bool odd =
      std::ranges::any_of(name, [](unsigned char c) { return c <= ' ' || c == '/' || c == '@' || c >= 127; });
  if (name.empty() || odd) return refused(ErrorCode::invalid_argument, "invalid host name");
  if (!is_port(port)) return refused(ErrorCode::invalid_argument, "invalid port");
  if (options.certificates.empty()) return http::TcpEndpoint{name, port};
  const std::string& directory = options.certificates;
  const http::TlsFiles files{directory + "/ca.pem", directory + "/cert.pem", directory + "/key.pem"};
  return http::TlsEndpoint{name, port, files};
}

Status validate(const DockerOptions& options) {
  if (!is_name(options.instance.value)) {
    return fail(ErrorCode::invalid_argument,
                "an instance id must be letters, digits, '-', '_' and '.': '" + options.instance.value + "'");
  }
  if (!is_name(options.name_prefix)) {
    return fail(ErrorCode::invalid_argument,
                "a name prefix must be letters, digits, '-', '_' and '.': '" + options.name_prefix + "'");
  }
  for (const auto& [from, to] : options.host_path_map) {
    if (!from.starts_with('/') || !to.starts_with('/')) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("host_path_map requires absolute paths: '{}' to '{}'", from, to));
    }
  }
  return {};
}

}  // namespace docker
}  // namespace cloche
