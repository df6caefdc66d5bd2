#include "bench/bare_relay.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

namespace cloche::bench {

namespace {

// As the channel has them.
constexpr int relay_pipe_size = 256 * 1024;
constexpr std::size_t relay_piece = 64 * 1024;

sockaddr_in loopback_port(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

enum class Sink { pipe, socket };

bool write_whole(int fd, Sink kind, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = kind == Sink::pipe ? ::write(fd, bytes.data(), bytes.size())
                                         : ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void copy_bytes(int from, int to, Sink kind) {
  std::vector<char> buffer(relay_piece);
  for (;;) {
    const ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || !write_whole(to, kind, {buffer.data(), static_cast<std::size_t>(n)})) return;
  }
}

// One direction: a thread for each side of a pipe. Returns when it has ended.
void relay_one_way(int from, int to) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  ::fcntl(in.get(), F_SETPIPE_SZ, relay_pipe_size);
  std::thread reader([from, &in] {
    copy_bytes(from, in.get(), Sink::pipe);
    in.reset();
  });
  copy_bytes(out.get(), to, Sink::socket);
  ::shutdown(to, SHUT_WR);
  // If `to` takes no more, the other thread still writes.
  std::vector<char> dropped(relay_piece);
  while (::read(out.get(), dropped.data(), dropped.size()) > 0) continue;
  reader.join();
}

void relay_connection(const UniqueFd& client, std::uint16_t to) {
  const UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback_port(to);
  if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
  std::thread up([&] { relay_one_way(client.get(), server.get()); });
  relay_one_way(server.get(), client.get());
  up.join();
}

void accept_connections(int listener, std::uint16_t to) {
  std::vector<std::thread> connections;
  for (;;) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0 && errno == EINTR) continue;
    if (client < 0) break;
    connections.emplace_back([fd = UniqueFd(client), to] { relay_connection(fd, to); });
  }
  for (std::thread& each : connections) each.join();
}

}  // namespace

Result<std::unique_ptr<BareRelay>> BareRelay::start(std::uint16_t to) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback_port(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!listener || ::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0) {
    return fail_errno("listen for the bare relay");
  }
  return std::unique_ptr<BareRelay>(new BareRelay(std::move(listener), ntohs(address.sin_port), to));
}

BareRelay::BareRelay(UniqueFd listener, std::uint16_t port, std::uint16_t to)
    : listener_(std::move(listener)),
      port_(port),
      accepting_([fd = listener_.get(), to] { accept_connections(fd, to); }) {}

BareRelay::~BareRelay() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  accepting_.join();
}

}  // namespace cloche::bench
