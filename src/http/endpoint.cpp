#include "http/endpoint.hpp"

namespace cloche::http {

namespace {

// An IPv6 address needs brackets, or its last part would read as the port. The usual port is left out.
std::string host_and_port(const std::string& host, const std::string& port, std::string_view usual = {}) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + (port == usual ? "" : ":" + port);
}

}  // namespace

bool is_pem(std::string_view text) { return text.starts_with("-----BEGIN"); }

std::string describe(const Endpoint& endpoint) {
  if (const auto* unix_socket = std::get_if<UnixEndpoint>(&endpoint)) return "unix://" + unix_socket->path;
  if (const auto* tcp = std::get_if<TcpEndpoint>(&endpoint)) return "tcp://" + host_and_port(tcp->host, tcp->port);
  const auto& tls = std::get<TlsEndpoint>(endpoint);
  return "tls://" + host_and_port(tls.host, tls.port);
}

std::string host_header(const Endpoint& endpoint) {
  if (const auto* tcp = std::get_if<TcpEndpoint>(&endpoint)) return host_and_port(tcp->host, tcp->port, "80");
  if (const auto* tls = std::get_if<TlsEndpoint>(&endpoint)) return host_and_port(tls->host, tls->port, "443");
  return "localhost";
}

}  // namespace cloche::http
