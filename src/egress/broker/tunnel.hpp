// Tunnels: connections of a program to one destination, by CONNECT, SOCKS or without a proxy. Private to this folder.
#pragma once

#include <functional>
#include <memory>

#include "egress/broker/state.hpp"

namespace cloche::egress {

// How the program is answered. One of them is called, once.
struct TunnelFront {
  // It is connected: its bytes follow.
  std::function<Task<Result<std::unique_ptr<http::Stream>>>()> accept;
  std::function<Task<>(Refusal)> refuse;
};

// Until the tunnel ends. What it carries is read if it is HTTP on port 80, or if its requests get a secret; otherwise
// it is relayed, after the server name of TLS was checked.
Task<> carry_tunnel(Live& live, Protocol protocol, Destination destination, TunnelFront front);

}  // namespace cloche::egress
