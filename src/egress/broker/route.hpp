// The way to a destination: decided, resolved, decided again for each address, connected. Private to this folder.
#pragma once

#include <memory>
#include <vector>

#include "egress/broker/state.hpp"

namespace cloche::egress {

struct Route {
  Destination destination;
  std::vector<Address> addresses;  // allowed, in the order in which to try them; with an upstream proxy maybe none
  std::string rule;                // that allowed it; empty: none did
};

// The live connection's `use` says what for. The policy is the one that holds when the last step is done.
Task<OrRefusal<Route>> find_route(Live& live);

// To the first address that accepts, which becomes the address of the live connection's use. What the stream carries
// is counted, in `traffic` too.
Task<OrRefusal<std::unique_ptr<http::Stream>>> connect_route(Live& live, const Route& route,
                                                             std::shared_ptr<Traffic> traffic);

// `host:port`, with an IPv6 address in brackets.
std::string host_and_port(const Destination& destination);
// The same without port 80.
std::string authority_of(const Destination& destination);

}  // namespace cloche::egress
