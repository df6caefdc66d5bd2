// Heads of messages between a program and a server of the internet, written again from what was read. No I/O.
#pragma once

#include <string>

#include "egress/policy/policy.hpp"
#include "http/server/exchange.hpp"
#include "http/server/forwarding.hpp"

namespace cloche::egress {

// The request of a program as the server gets it. What is about one connection only is left out, and so is every field
// that a server could read in another way than we did. Only WebSocket can be switched to.
http::ForwardedRequest forwarded_request(const http::Exchange& exchange, const Destination& destination);
// The same with another host, target (path and query) and fields than those of the exchange.
struct ForwardedParts {
  std::string host;
  std::string target;
  http::Fields fields;
};
http::ForwardedRequest forwarded_request(const http::Exchange& exchange, const ForwardedParts& parts);

// The fields of the server's response as the program gets them.
Result<http::Fields> forwarded_fields(const http::Response& head);
// The same for a 101.
Result<http::Fields> forwarded_upgrade_fields(const http::Response& head);

}  // namespace cloche::egress
