#include "sandbox/inside_acceptor.hpp"

#include <sys/socket.h>

#include <boost/asio/steady_timer.hpp>
#include <cerrno>

namespace cloche {

namespace {

using asio::ip::tcp;

constexpr std::chrono::milliseconds when_out_of_sockets{100};

}  // namespace

// Shared with the handler that is pending when the acceptor is destroyed.
struct InsideAcceptor::State : std::enable_shared_from_this<InsideAcceptor::State> {
  State(const Executor& executor, Taker t) : listener(executor), retry(executor), taker(std::move(t)) {}

  // One connection at a time: other work gets its turn in between.
  void wait() {
    if (is_waiting || is_closed || !taker.has_room()) return;
    is_waiting = true;
    listener.async_wait(tcp::acceptor::wait_read, [self = shared_from_this()](boost::system::error_code code) {
      self->is_waiting = false;
      if (!code && !self->is_closed) self->accept();
    });
  }

  void accept() {
    UniqueFd accepted(::accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!accepted) {
      const bool is_of_one = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      return is_of_one ? wait() : wait_for_sockets();
    }
    tcp::socket socket(listener.get_executor());
    boost::system::error_code code;
    socket.assign(protocol, accepted.get(), code);
    if (!code) {
      (void)accepted.release();
      taker.take(std::move(socket));
    }
    wait();
  }

  void wait_for_sockets() {
    is_waiting = true;
    retry.expires_after(when_out_of_sockets);
    retry.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
      self->is_waiting = false;
      if (!cancelled) self->wait();
    });
  }

  tcp::acceptor listener;
  asio::steady_timer retry;
  Taker taker;
  tcp protocol = tcp::v4();
  bool is_waiting = false;
  bool is_closed = false;
};

Result<std::unique_ptr<InsideAcceptor>> InsideAcceptor::start(const Executor& executor, UniqueFd listener,
                                                              Taker taker) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return fail_errno("getsockname");
  auto state = std::make_shared<State>(executor, std::move(taker));
  state->protocol = own.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
  boost::system::error_code code;
  state->listener.assign(state->protocol, listener.get(), code);
  if (code) return fail(ErrorCode::internal, "watch a listener: " + code.message());
  (void)listener.release();
  state->wait();
  return std::unique_ptr<InsideAcceptor>(new InsideAcceptor(std::move(state)));
}

InsideAcceptor::~InsideAcceptor() {
  state_->is_closed = true;
  state_->taker = {};
  state_->retry.cancel();
  // Closing alone leaves it listening while a program that is being started has a copy.
  ::shutdown(state_->listener.native_handle(), SHUT_RDWR);
  boost::system::error_code ignored;
  state_->listener.close(ignored);
}

void InsideAcceptor::resume() { state_->wait(); }

}  // namespace cloche
