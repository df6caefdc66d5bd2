#include "agent/egress/meant_destination.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace cloche::agent {

namespace {

// Linux numbers; the headers that name them cannot be included next to the C library's.
constexpr int so_original_dst = 80;

bool is_loopback(std::uint32_t address) { return address >> 24 == 127; }

}  // namespace

std::optional<MeantDestination> meant_destination(int socket, LoopbackFamily family, NameTable& names) {
  char text[INET6_ADDRSTRLEN];
  if (family == LoopbackFamily::v6) {
    sockaddr_in6 meant{};
    socklen_t size = sizeof meant;
    if (::getsockopt(socket, IPPROTO_IPV6, so_original_dst, &meant, &size) != 0) return std::nullopt;
    if (IN6_IS_ADDR_LOOPBACK(&meant.sin6_addr)) return std::nullopt;
    if (::inet_ntop(AF_INET6, &meant.sin6_addr, text, sizeof text) == nullptr) return std::nullopt;
    return MeantDestination{text, ntohs(meant.sin6_port)};
  }
  sockaddr_in meant{};
  socklen_t size = sizeof meant;
  if (::getsockopt(socket, IPPROTO_IP, so_original_dst, &meant, &size) != 0) return std::nullopt;
  const std::uint32_t address = ntohl(meant.sin_addr.s_addr);
  if (is_loopback(address)) return std::nullopt;
  if (NameTable::is_ours(address)) {
    auto name = names.name_of(address);
    if (!name) return std::nullopt;
    return MeantDestination{std::move(*name), ntohs(meant.sin_port)};
  }
  if (::inet_ntop(AF_INET, &meant.sin_addr, text, sizeof text) == nullptr) return std::nullopt;
  return MeantDestination{text, ntohs(meant.sin_port)};
}

}  // namespace cloche::agent
