#include "agent/link/tcp_stream.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "agent/link/socket_relay.hpp"

namespace cloche::agent {

namespace {

constexpr std::chrono::seconds connect_timeout{10};

class TcpStream final : public Stream {
 public:
  TcpStream(ServerLink& link, wire::StreamId id, Loop& loop, std::uint16_t port)
      : Stream(link, id), loop_(loop), port_(port) {}

  Status start() {
    socket_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) return fail_errno("create a socket");
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS) {
      return fail(errno_error(where(), errno));
    }
    connecting_ = loop_.watch(socket_.get(), EPOLLOUT, [this](std::uint32_t) { on_connected(); });
    connect_timer_ =
        loop_.after(connect_timeout, [this] { close(Error{ErrorCode::timeout, where() + ": no response"}); });
    return {};
  }

  void on_data(std::uint8_t, std::string_view bytes) override {
    if (relay_) {
      relay_->on_data(bytes);
    } else {
      early_.append(bytes);  // at most the initial credit
    }
  }
  void on_eof(std::uint8_t) override {
    in_ended_ = true;
    if (relay_) relay_->on_eof();
  }
  void on_writable(std::uint8_t) override {
    if (relay_) relay_->on_writable();
  }
  void on_cancel() override {
    close();
    // Now, not when the stream is destroyed: a reset that follows looks for sockets.
    connecting_.reset();
    socket_.reset();
    relay_.reset();
  }

 private:
  std::string where() const { return "connect to port " + std::to_string(port_) + " in the sandbox"; }

  void on_connected() {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    connecting_.reset();
    connect_timer_.reset();
    if (error != 0) {
      auto refused = errno_error(where(), error);
      if (error == ECONNREFUSED) refused = {ErrorCode::not_found, where() + ": nothing is listening on this port"};
      return close(refused);
    }
    auto relay = SocketRelay::start(*this, loop_, std::move(socket_));
    if (!relay) return close(relay.error());
    relay_ = std::move(*relay);
    send(wire::TcpConnected{});
    if (!early_.empty()) relay_->on_data(std::exchange(early_, {}));
    if (in_ended_) relay_->on_eof();
  }

  Loop& loop_;
  std::uint16_t port_;
  UniqueFd socket_;
  std::string early_;
  bool in_ended_ = false;
  Loop::FdWatcher connecting_;
  Loop::Timer connect_timer_;
  std::unique_ptr<SocketRelay> relay_;
};

}  // namespace

Result<std::unique_ptr<Stream>> open_tcp_stream(ServerLink& link, wire::StreamId id, Loop& loop,
                                                const wire::TcpRequest& request) {
  if (request.port == 0 || request.port > 65535) {
    return fail(ErrorCode::invalid_argument, "invalid port " + std::to_string(request.port));
  }
  auto stream = std::make_unique<TcpStream>(link, id, loop, static_cast<std::uint16_t>(request.port));
  CLOCHE_CHECK(stream->start());
  return stream;
}

}  // namespace cloche::agent
