#include "agent/egress/name_server.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "agent/egress/dns_answer.hpp"

namespace cloche::agent {

Result<std::unique_ptr<NameServer>> NameServer::listen(Loop& loop, std::uint16_t port, NameTable& names) {
  const std::string where = "listen on UDP port " + std::to_string(port) + " in the sandbox";
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(where);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EADDRINUSE) return fail(ErrorCode::already_exists, where + ": the port is in use");
    return fail_errno(where);
  }
  return std::unique_ptr<NameServer>(new NameServer(loop, std::move(socket), names));
}

NameServer::NameServer(Loop& loop, UniqueFd socket, NameTable& names) : socket_(std::move(socket)), names_(names) {
  watch_ = loop.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) { on_readable(); });
}

void NameServer::on_readable() {
  char buffer[most_dns_bytes + 1];
  sockaddr_in from{};
  socklen_t size = sizeof from;
  const ssize_t n = ::recvfrom(socket_.get(), buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&from), &size);
  if (n < 0) return;
  const AddressOf address_of = [this](std::string_view name) { return names_.address_of(name); };
  const std::string answer = answer_dns({buffer, static_cast<std::size_t>(n)}, address_of);
  if (answer.empty()) return;
  // One that is lost is asked for again.
  ::sendto(socket_.get(), answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
}

}  // namespace cloche::agent
