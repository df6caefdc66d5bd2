#include "egress/broker/relay.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include "core/async/first_of.hpp"

namespace cloche::egress {

namespace {

// An idle connection has small buffers, a busy one large ones.
constexpr std::size_t smallest_buffer = std::size_t{4} << 10;
constexpr std::size_t largest_buffer = std::size_t{64} << 10;
// Written at a time: a slow reader that takes so much is not idle.
constexpr std::size_t written_piece = std::size_t{64} << 10;

using Direction = http::Stream::Direction;
using Socket = asio::ip::tcp::socket;

Error closed_while_moving() { return {ErrorCode::cancelled, "the connection was closed"}; }

// Or until it is closed: the caller looks again.
Task<> until_ready(Socket& socket, Socket::wait_type what) {
  boost::system::error_code ignored;
  co_await socket.async_wait(what, asio::redirect_error(asio::use_awaitable, ignored));
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    throw boost::system::system_error(asio::error::operation_aborted);
  }
}

// Suspends until then. True: it was cancelled before. An exception would cost more than a small request.
Task<bool> cancelled_before(Deadline::Clock::time_point then) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, then);
  boost::system::error_code cancelled;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  co_return cancelled.failed();
}

class BothWays {
 public:
  BothWays(http::Stream& program, http::Stream& server, RelayOptions& options)
      : program_(program), server_(server), options_(options) {}

  Task<Status> run() {
    auto ended = co_await first_of(up(), down(), watch());
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      throw boost::system::system_error(asio::error::operation_aborted);
    }
    if (auto* by_program = std::get_if<0>(&ended)) co_return std::move(*by_program);
    if (auto* by_server = std::get_if<1>(&ended)) co_return std::move(*by_server);
    co_return fail(ErrorCode::timeout, "no bytes were transferred for too long");
  }

 private:
  Task<Status> up() {
    if (options_.first_bytes) {
      CLOCHE_CO_TRY(const std::string first, co_await options_.first_bytes());
      touch();
      if (!first.empty()) CLOCHE_CO_CHECK(co_await server_.write_all(first, Deadline::never()));
    }
    co_return co_await pass(program_, server_);
  }

  Task<Status> down() { return pass(server_, program_); }

  enum class Ended { yes, no_longer_copied };

  // Returns when both directions have ended, or with an error.
  Task<Status> pass(http::Stream& from, http::Stream& to) {
    CLOCHE_CO_TRY(const Ended copied, co_await copy(from, to));
    if (copied == Ended::no_longer_copied) CLOCHE_CO_CHECK(co_await move(from, to));
    co_await to.end_writing(Deadline::after(options_.idle));
    if (++ended_ < 2) co_await cancelled_before(Deadline::Clock::time_point::max());
    co_return Status{};
  }

  // Until the end, or until the bytes can stay in the kernel.
  Task<Result<Ended>> copy(http::Stream& from, http::Stream& to) {
    std::string buffer(smallest_buffer, '\0');
    for (;;) {
      if (can_move(from, to)) co_return Ended::no_longer_copied;
      CLOCHE_CO_TRY(const std::size_t count, co_await from.read_some(buffer, Deadline::never()));
      touch();
      if (count == 0) co_return Ended::yes;
      for (std::string_view rest(buffer.data(), count); !rest.empty();) {
        const std::string_view piece = rest.substr(0, written_piece);
        auto written = co_await to.write_all(piece, Deadline::never());
        // The program is gone; what it has sent still goes to the server.
        if (!written && &to == &program_) co_return Ended::yes;
        if (!written) co_return fail(std::move(written).error());
        touch();
        rest.remove_prefix(piece.size());
      }
      if (count == buffer.size() && count < largest_buffer) {
        buffer = std::string(4 * count, '\0');
      } else if (count < smallest_buffer && buffer.size() > smallest_buffer) {
        buffer = std::string(smallest_buffer, '\0');  // the other side may pause now
      }
    }
  }

  bool can_move(http::Stream& from, http::Stream& to) const {
    return options_.pipes && from.bare_socket(Direction::reading) != nullptr &&
           to.bare_socket(Direction::writing) != nullptr;
  }

  // Until the end.
  Task<Status> move(http::Stream& from, http::Stream& to) {
    const auto executor = co_await asio::this_coro::executor;
    boost::system::error_code ignored;
    from.bare_socket(Direction::reading)->non_blocking(true, ignored);
    to.bare_socket(Direction::writing)->non_blocking(true, ignored);
    KernelPipe pipe(options_.pipes);
    for (;;) {
      Socket* const source = from.bare_socket(Direction::reading);
      if (source == nullptr) co_return fail(closed_while_moving());
      auto filled = pipe.fill(source->native_handle());
      // A program that resets the connection has ended it.
      if (!filled && &from == &program_) co_return Status{};
      if (!filled) co_return fail(std::move(filled).error());
      if (*filled == KernelPipe::Step::at_end) co_return Status{};
      if (*filled == KernelPipe::Step::must_wait) {
        co_await until_ready(*source, Socket::wait_read);
        continue;
      }
      touch();
      CLOCHE_CO_CHECK(from.moved(pipe.held(), 0));
      CLOCHE_CO_CHECK(to.moved(0, pipe.held()));
      while (pipe.held() > 0) {
        Socket* const target = to.bare_socket(Direction::writing);
        if (target == nullptr) co_return fail(closed_while_moving());
        auto drained = pipe.drain(target->native_handle());
        // The program is gone; what it has sent still goes to the server.
        if (!drained && &to == &program_) co_return Status{};
        if (!drained) co_return fail(std::move(drained).error());
        if (*drained == KernelPipe::Step::must_wait) co_await until_ready(*target, Socket::wait_write);
        touch();
      }
      // One step at a time: other work of this thread gets its turn.
      co_await asio::post(executor, asio::use_awaitable);
    }
  }

  Task<> watch() {
    while (Deadline::Clock::now() - last_ < options_.idle) {
      const bool cancelled = co_await cancelled_before(last_ + options_.idle);
      if (cancelled) co_return;
    }
  }

  void touch() { last_ = Deadline::Clock::now(); }

  http::Stream& program_;
  http::Stream& server_;
  RelayOptions& options_;
  int ended_ = 0;
  Deadline::Clock::time_point last_ = Deadline::Clock::now();
};

}  // namespace

Task<Status> relay(http::Stream& program, http::Stream& server, RelayOptions options) {
  BothWays both(program, server, options);
  co_return co_await both.run();
}

}  // namespace cloche::egress
