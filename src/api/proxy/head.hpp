// Heads of messages that pass between a client of ours and a server in a sandbox. What they say to us alone stays here;
// what a sandbox could say to a browser about our own origin does too. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "http/fields.hpp"

namespace cloche::api {

// "1" to "65535".
Result<std::uint16_t> read_port(std::string_view text);

struct ProxyHead {
  std::string method;
  std::string target;  // path and query, percent-encoded
  http::Fields fields;
  std::uint16_t port = 0;
  std::string prefix;  // where the client finds the server: path without a slash at its end
  bool has_body = false;
  std::optional<std::uint64_t> length;  // of the body; none: in chunks
  bool upgrades = false;                // to a WebSocket
};

// The request as the sandbox's server gets it. Hop-by-hop fields, Authorization, Cookie and the like are left out.
std::string serialise_proxy_head(const ProxyHead& head);

// Fields of its answer as our client gets them. Cookies and all that would hold for our whole origin are left out;
// `Content-Security-Policy: sandbox` and `nosniff` are added; a Location within the server gets the prefix.
http::Fields proxied_answer_fields(const http::Fields& fields, std::string_view prefix, std::uint16_t port);

// Of an answer that switches to WebSocket.
http::Fields proxied_upgrade_fields(const http::Fields& fields);

}  // namespace cloche::api
