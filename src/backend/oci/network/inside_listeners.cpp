#include "backend/oci/network/inside_listeners.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <thread>

#include "backend/oci/network/network_namespace.hpp"
#include "wire/egress_messages.hpp"

namespace cloche::oci {

namespace {

using namespace std::chrono_literals;

// For each direction of each connection, whatever the sandbox's settings are: the memory of these sockets is not the
// sandbox's. The kernel counts twice as much, for its own needs.
constexpr int most_kept = 256 << 10;
constexpr int backlog = static_cast<int>(wire::max_egress_offers);
// A server that was killed at this moment still has its sockets.
constexpr int tries = 6;
constexpr auto between_tries = 20ms;

void set_option(int fd, int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); }

union Loopback {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

Result<UniqueFd> try_to_listen(const Loopback& address, socklen_t size, const std::string& where) {
  UniqueFd listener(::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return fail_errno(where);
  set_option(listener.get(), SOL_SOCKET, SO_REUSEADDR, 1);  // closed connections of earlier listeners do not matter
  set_option(listener.get(), SOL_SOCKET, SO_RCVBUFFORCE, most_kept);
  set_option(listener.get(), SOL_SOCKET, SO_SNDBUFFORCE, most_kept);
  if (address.any.sa_family == AF_INET6) set_option(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (::bind(listener.get(), &address.any, size) != 0 || ::listen(listener.get(), backlog) != 0) {
    if (errno == EADDRINUSE) return fail(ErrorCode::already_exists, where + ": the port is in use");
    return fail_errno(where);
  }
  return listener;
}

Result<UniqueFd> listen_on(const Loopback& address, socklen_t size, std::uint16_t port) {
  const std::string where = "listen on port " + std::to_string(port) + " in the sandbox";
  for (int i = 1;; ++i) {
    auto listener = try_to_listen(address, size, where);
    if (listener || listener.error().code != ErrorCode::already_exists || i == tries) return listener;
    std::this_thread::sleep_for(between_tries);
  }
}

Result<UniqueFd> listen_v4(std::uint16_t port) {
  Loopback address{};
  address.v4.sin_family = AF_INET;
  address.v4.sin_port = htons(port);
  address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return listen_on(address, sizeof address.v4, port);
}

Result<UniqueFd> listen_v6(std::uint16_t port) {
  Loopback address{};
  address.v6 = {};
  address.v6.sin6_family = AF_INET6;
  address.v6.sin6_port = htons(port);
  address.v6.sin6_addr = IN6ADDR_LOOPBACK_INIT;
  return listen_on(address, sizeof address.v6, port);
}

Status listen_here(std::uint16_t proxy_port, bool redirected, InsideListeners& listeners) {
  CLOCHE_TRY(listeners.proxy, listen_v4(proxy_port));
  if (!redirected) return {};
  CLOCHE_TRY(auto v4, listen_v4(wire::transparent_port));
  listeners.redirected.push_back(std::move(v4));
  auto v6 = listen_v6(wire::transparent_port);
  // A kernel without IPv6 redirects no such connection either.
  if (!v6 && v6.error().code == ErrorCode::already_exists) return fail(std::move(v6).error());
  if (v6) listeners.redirected.push_back(std::move(*v6));
  return {};
}

Result<UniqueFd> open_network(const std::string& path) {
  UniqueFd network(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!network) return fail_errno("open " + path);
  return network;
}

bool are_same(int a, int b) {
  struct stat first = {};
  struct stat second = {};
  if (::fstat(a, &first) != 0 || ::fstat(b, &second) != 0) return true;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace

Result<InsideListeners> listen_in_network_of(const ProcessIdentity& first, std::uint16_t proxy_port, bool redirected) {
  CLOCHE_TRY(const UniqueFd network, open_network("/proc/" + std::to_string(first.pid) + "/ns/net"));
  // Looked at after opening: the number may have been another process's.
  if (!is_alive(first)) return fail(ErrorCode::sandbox_lost, "the sandbox's first process has ended");
  CLOCHE_TRY(const UniqueFd own, open_network("/proc/self/ns/net"));
  if (are_same(network.get(), own.get())) return fail(ErrorCode::unsupported, "the sandbox has no network of its own");
  InsideListeners listeners;
  CLOCHE_CHECK(in_network(network.get(), [&] { return listen_here(proxy_port, redirected, listeners); }));
  return listeners;
}

}  // namespace cloche::oci
