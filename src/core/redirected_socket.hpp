// Where a connection was going that the kernel redirected to a listener of ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cloche {

struct RedirectedFrom {
  std::string address;   // as text
  std::uint32_t v4 = 0;  // the same in host byte order; 0 for IPv6
  std::uint16_t port = 0;
};

// Of an accepted TCP socket. nullopt if it was not redirected: its destination was the loopback itself.
std::optional<RedirectedFrom> redirected_from(int socket);

}  // namespace cloche
