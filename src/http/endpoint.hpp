// Endpoint: where an HTTP server is reached.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace cloche::http {

struct UnixEndpoint {
  std::string path;
};

struct TcpEndpoint {
  std::string host;
  std::string port;
};

// PEM files of one client, or their text: what begins with `-----BEGIN` is the text itself. The server's certificate
// must be signed by `authority` and name the host.
struct TlsFiles {
  std::string authority;
  std::string certificate;
  std::string key;
};

struct TlsEndpoint {
  std::string host;
  std::string port;
  TlsFiles files;
  std::string server_name;  // in the server's certificate; empty: the host
};

// Whether it is the text of a PEM file, and not its path.
bool is_pem(std::string_view text);

using Endpoint = std::variant<UnixEndpoint, TcpEndpoint, TlsEndpoint>;

// For messages: `unix:///run/x.sock`, `tcp://host:80`, `tls://host:443`.
std::string describe(const Endpoint& endpoint);

// The value of the Host header, without a port that is the usual one. A Unix socket has no host, but servers require
// one.
std::string host_header(const Endpoint& endpoint);

}  // namespace cloche::http
