// SocketStream: Stream over one of Asio's sockets, plain or with TLS. Private to this folder.
#pragma once

#include <poll.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>

#include "http/stream.hpp"

namespace cloche::http {

// Closes a socket when the deadline passes, unless it goes out of scope before.
class SocketAlarm {
 public:
  template <class Socket>
  SocketAlarm(Socket& socket, Deadline deadline) {
    if (deadline.is_never()) return;
    state_ = std::make_shared<State>(socket.get_executor(), deadline.time());
    state_->close = [&socket] {
      boost::system::error_code ignored;
      socket.close(ignored);
    };
    // The handler may already be queued when the alarm is destroyed: it checks `close`, which is empty by then.
    state_->timer.async_wait([state = state_](boost::system::error_code cancelled) {
      if (cancelled || !state->close) return;
      state->fired = true;
      state->close();
    });
  }
  SocketAlarm(const SocketAlarm&) = delete;
  SocketAlarm& operator=(const SocketAlarm&) = delete;
  ~SocketAlarm() {
    if (!state_) return;
    state_->close = nullptr;
    state_->timer.cancel();
  }

  bool fired() const { return state_ && state_->fired; }

 private:
  struct State {
    template <class E>
    State(E executor, Deadline::Clock::time_point when) : timer(executor, when) {}
    asio::steady_timer timer;
    std::function<void()> close;
    bool fired = false;
  };
  std::shared_ptr<State> state_;
};

// A peer that disappeared silently is detected within about a minute, also by a reader.
void watch_the_peer(asio::ip::tcp::socket& socket);

// Asio's error as ours. Throws when the task that waited was cancelled.
Error stream_error(std::string_view step, const boost::system::error_code& code, bool deadline_passed,
                   asio::cancellation_type cancelled);

template <class Socket>
class SocketStream final : public Stream {
 public:
  explicit SocketStream(Socket socket) : socket_(std::move(socket)) {}

  Task<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override {
    const SocketAlarm alarm(socket_.lowest_layer(), deadline);
    const auto [code, count] =
        co_await socket_.async_read_some(asio::buffer(into.data(), into.size()), asio::as_tuple(asio::use_awaitable));
    if (!code) co_return count;
    if (code == asio::error::eof) co_return std::size_t{0};
    const auto state = co_await asio::this_coro::cancellation_state;
    co_return fail(stream_error("read", code, alarm.fired(), state.cancelled()));
  }

  Task<Status> write_all(std::string_view bytes, Deadline deadline) override {
    const SocketAlarm alarm(socket_.lowest_layer(), deadline);
    const auto [code, count] = co_await asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()),
                                                          asio::as_tuple(asio::use_awaitable));
    if (!code) co_return Status{};
    const auto state = co_await asio::this_coro::cancellation_state;
    co_return fail(stream_error("write", code, alarm.fired(), state.cancelled()));
  }

  Task<> end_writing(Deadline deadline) override {
    boost::system::error_code ignored;
    if constexpr (requires { socket_.async_shutdown(asio::use_awaitable); }) {
      const SocketAlarm alarm(socket_.lowest_layer(), deadline);
      co_await socket_.async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
    }
    socket_.lowest_layer().shutdown(asio::socket_base::shutdown_send, ignored);
    co_return;
  }

  void close() override {
    boost::system::error_code ignored;
    socket_.lowest_layer().close(ignored);
  }

  bool is_quiet() override {
    if (!socket_.lowest_layer().is_open()) return false;
    pollfd watched{socket_.lowest_layer().native_handle(), POLLIN | POLLRDHUP, 0};
    return ::poll(&watched, 1, 0) == 0;
  }

  asio::ip::tcp::socket* bare_socket(Direction) override {
    if constexpr (std::is_same_v<Socket, asio::ip::tcp::socket>) return socket_.is_open() ? &socket_ : nullptr;
    return nullptr;
  }

 private:
  Socket socket_;
};

}  // namespace cloche::http
