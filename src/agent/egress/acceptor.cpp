#include "agent/egress/acceptor.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace cloche::agent {

namespace {

constexpr std::chrono::milliseconds when_out_of_descriptors{100};

union LoopbackAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

LoopbackAddress loopback(LoopbackFamily family, std::uint16_t port, socklen_t& size) {
  LoopbackAddress address{};
  if (family == LoopbackFamily::v4) {
    size = sizeof address.v4;
    address.v4 = {};
    address.v4.sin_family = AF_INET;
    address.v4.sin_port = htons(port);
    address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else {
    size = sizeof address.v6;
    address.v6 = {};
    address.v6.sin6_family = AF_INET6;
    address.v6.sin6_port = htons(port);
    address.v6.sin6_addr = IN6ADDR_LOOPBACK_INIT;
  }
  return address;
}

void set_option(int fd, int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); }

}  // namespace

Result<std::unique_ptr<Acceptor>> Acceptor::listen(Loop& loop, LoopbackFamily family, std::uint16_t port, Taker taker) {
  const std::string where = "listen on port " + std::to_string(port) + " in the sandbox";
  socklen_t size = 0;
  const LoopbackAddress address = loopback(family, port, size);
  UniqueFd listener(::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return fail_errno(where);
  set_option(listener.get(), SOL_SOCKET, SO_REUSEADDR, 1);  // closed connections of earlier listeners do not matter
  if (family == LoopbackFamily::v6) set_option(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (::bind(listener.get(), &address.any, size) != 0 || ::listen(listener.get(), SOMAXCONN) != 0) {
    if (errno == EADDRINUSE) return fail(ErrorCode::already_exists, where + ": the port is in use");
    return fail_errno(where);
  }
  return std::unique_ptr<Acceptor>(new Acceptor(loop, std::move(listener), std::move(taker)));
}

Acceptor::Acceptor(Loop& loop, UniqueFd listener, Taker taker)
    : loop_(loop), listener_(std::move(listener)), taker_(std::move(taker)) {
  watch_ = loop.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
}

void Acceptor::on_readable() {
  if (!taker_.has_room()) return watch_.want(0);  // until resume(); the kernel lets some more wait
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    watch_.want(0);
    retry_ = loop_.after(when_out_of_descriptors, [this] { resume(); });
    return;
  }
  set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  // The kernel keeps nothing of a connection that is given up, so a reset of the sandbox finds none.
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  taker_.take(std::move(socket));
}

}  // namespace cloche::agent
