#include "core/redirected_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace cloche {

namespace {

// A number of Linux; the headers that name it cannot be included next to the C library's.
constexpr int so_original_dst = 80;

bool is_loopback(std::uint32_t address) { return address >> 24 == 127; }

}  // namespace

std::optional<RedirectedFrom> redirected_from(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return std::nullopt;
  char text[INET6_ADDRSTRLEN];
  if (own.ss_family == AF_INET6) {
    sockaddr_in6 meant{};
    size = sizeof meant;
    if (::getsockopt(socket, IPPROTO_IPV6, so_original_dst, &meant, &size) != 0) return std::nullopt;
    if (IN6_IS_ADDR_LOOPBACK(&meant.sin6_addr)) return std::nullopt;
    if (::inet_ntop(AF_INET6, &meant.sin6_addr, text, sizeof text) == nullptr) return std::nullopt;
    return RedirectedFrom{text, 0, ntohs(meant.sin6_port)};
  }
  sockaddr_in meant{};
  size = sizeof meant;
  if (::getsockopt(socket, IPPROTO_IP, so_original_dst, &meant, &size) != 0) return std::nullopt;
  const std::uint32_t address = ntohl(meant.sin_addr.s_addr);
  if (is_loopback(address)) return std::nullopt;
  if (::inet_ntop(AF_INET, &meant.sin_addr, text, sizeof text) == nullptr) return std::nullopt;
  return RedirectedFrom{text, address, ntohs(meant.sin_port)};
}

}  // namespace cloche
