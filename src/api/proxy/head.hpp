// Heads of messages between our clients and a server in a sandbox. Fields that are only for this service are removed,
// and so is what a sandbox could tell a browser about our origin. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/proxy/location.hpp"
#include "core/result.hpp"
#include "http/fields.hpp"

namespace cloche::api {

// "1" to "65535".
Result<std::uint16_t> read_port(std::string_view text);

// Whose host name a browser knows the server by.
enum class ServedAs {
  path,  // that of this service: the server is one path of it, and must not speak for the rest
  host,  // its own: cookies, credentials and policies are between the client and the server
};

struct ProxyHead {
  std::string method;
  std::string target;  // path and query, percent-encoded
  http::Fields fields;
  std::uint16_t port = 0;
  std::string prefix;  // where the client finds the server: path without a slash at its end
  bool has_body = false;
  std::optional<std::uint64_t> length;  // of the body; none: in chunks
  bool upgrades = false;                // to a WebSocket
  std::vector<HostPort> service;        // names under which the client may know us
  ServedAs served_as = ServedAs::path;
  std::string host;     // that the server is told; empty: localhost with its port
  bool is_tls = false;  // the server speaks TLS, with any certificate

  ProxyPlace place() const;
};

// The request as the sandbox's server gets it. Hop-by-hop fields, Authorization, Cookie, what proxies in front of us
// say and the like are left out.
std::string serialise_proxy_head(const ProxyHead& head);

// Fields of its answer as our client gets them: those that are known to concern this content alone, and a server's own
// (X-, Mcp- and the like). `Content-Security-Policy: sandbox` and `nosniff` are added. A Location cannot leave the
// server's prefix for anything else of the service: `protocol`.
//
// A server with a host name of its own says what it wants of itself, but its cookies stay with that name.
Result<http::Fields> proxied_answer_fields(const http::Fields& fields, const ProxyPlace& place,
                                           ServedAs served_as = ServedAs::path);

// Of an answer that switches to WebSocket.
http::Fields proxied_upgrade_fields(const http::Fields& fields);

}  // namespace cloche::api
