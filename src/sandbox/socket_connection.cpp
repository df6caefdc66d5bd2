#include "sandbox/socket_connection.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>

namespace cloche {

namespace {

using asio::ip::tcp;

// How long a reader of the last bytes may pause.
constexpr std::chrono::seconds reader_timeout{10};
// How often a deadline is looked at while the sandbox is frozen.
constexpr std::chrono::seconds look_while_frozen{1};
constexpr std::size_t read_piece = std::size_t{64} << 10;
// Dropped before other work gets its turn.
constexpr int pieces_at_once = 16;

void set_linger(tcp::socket& socket, linger how) {
  ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_LINGER, &how, sizeof how);
}

Error closed_connection() { return {ErrorCode::cancelled, "the connection was closed"}; }

}  // namespace

// A socket, as long as it is open. Shared by the connection, its listener and steps that are pending.
struct SocketConnections::Open {
  Open(tcp::socket s, std::shared_ptr<const FrozenTime> f)
      : socket(std::move(s)), frozen(std::move(f)), alarm(socket.get_executor()) {}

  void forget() {
    if (const auto all = owner.lock()) all->open_.erase(place);
    owner.reset();
  }
  void reset(Error why) {
    if (!ended) ended = std::move(why);
    reset_socket(socket);
    alarm.cancel();
    forget();
  }
  void close() {
    boost::system::error_code ignored;
    socket.close(ignored);
    alarm.cancel();
    forget();
  }
  // What the program has not read.
  int unread_output() {
    int waiting = 0;
    return ::ioctl(socket.native_handle(), SIOCOUTQ, &waiting) == 0 ? waiting : 0;
  }

  tcp::socket socket;
  std::shared_ptr<const FrozenTime> frozen;
  asio::steady_timer alarm;
  std::weak_ptr<SocketConnections> owner;
  std::list<std::shared_ptr<Open>>::iterator place;
  std::optional<Error> ended;  // why steps fail
  bool at_end = false;         // the program sends no more
  bool finished = false;       // neither does this side
};

// After the last byte was written: what the program still sends is dropped, because closing a socket with unread bytes
// would reset the connection, and the program might lose what it has not read yet. It may read as long as it makes
// progress.
class SocketFarewell {
 public:
  static void begin(const std::shared_ptr<SocketConnections::Open>& open) {
    drop_input(open);
    wait_for_progress(open);
  }

 private:
  static void drop_input(const std::shared_ptr<SocketConnections::Open>& open) {
    open->socket.async_wait(tcp::socket::wait_read, [open](boost::system::error_code code) {
      if (code) return;
      std::array<char, 4096> dropped;
      for (int pieces = 0; pieces < pieces_at_once; ++pieces) {
        const ssize_t n = ::recv(open->socket.native_handle(), dropped.data(), dropped.size(), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (n <= 0) return open->close();
      }
      drop_input(open);
    });
  }

  static void wait_for_progress(const std::shared_ptr<SocketConnections::Open>& open) {
    open->alarm.expires_after(reader_timeout);
    open->alarm.async_wait([open, before = open->unread_output()](boost::system::error_code cancelled) {
      if (cancelled || !open->socket.is_open()) return;
      if (!open->frozen->is_frozen() && open->unread_output() == before) return open->reset(closed_connection());
      wait_for_progress(open);
    });
  }
};

class SocketConnection final : public TcpConnection {
 public:
  explicit SocketConnection(std::shared_ptr<SocketConnections::Open> open) : open_(std::move(open)) {}
  SocketConnection(const SocketConnection&) = delete;
  SocketConnection& operator=(const SocketConnection&) = delete;
  ~SocketConnection() override { abandon(); }

  Task<Result<std::string>> read(Deadline deadline) override {
    std::string bytes(read_piece, '\0');
    CLOCHE_CO_TRY(const std::size_t count, co_await read_into(bytes, deadline));
    bytes.resize(count);
    co_return bytes;
  }

  // A program that resets the connection has ended it.
  Task<Result<std::size_t>> read_into(std::span<char> into, Deadline deadline) override {
    const auto open = open_;
    const PatientDeadline patience(*open->frozen, deadline);
    for (;;) {
      if (open->ended) co_return fail(*open->ended);
      if (open->at_end) co_return std::size_t{0};
      const ssize_t n = ::recv(open->socket.native_handle(), into.data(), into.size(), MSG_DONTWAIT);
      if (n > 0) co_return static_cast<std::size_t>(n);
      if (n < 0 && errno == EINTR) continue;
      if (n == 0 || errno != EAGAIN) {
        open->at_end = true;
        continue;
      }
      if (patience.passed()) co_return fail(ErrorCode::timeout, "read: timed out");
      co_await wait(open, tcp::socket::wait_read, deadline, patience);
    }
  }

  Task<Status> write_view(std::string_view bytes, Deadline deadline) override {
    const auto open = open_;
    const PatientDeadline patience(*open->frozen, deadline);
    while (!bytes.empty()) {
      if (open->ended) co_return fail(*open->ended);
      const ssize_t n = ::send(open->socket.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) co_return fail(ErrorCode::unavailable, "write: the program is gone");
      if (patience.passed()) co_return fail(ErrorCode::timeout, "write: timed out");
      co_await wait(open, tcp::socket::wait_write, deadline, patience);
    }
    co_return Status{};
  }

  void finish() override {
    if (open_->ended || open_->finished) return;
    open_->finished = true;
    set_linger(open_->socket, {});  // what was sent arrives, also after the socket is closed here
    boost::system::error_code ignored;
    open_->socket.shutdown(tcp::socket::shutdown_send, ignored);
  }

  bool has_unread() const override {
    char byte = 0;
    if (open_->ended || open_->at_end) return true;
    return ::recv(open_->socket.native_handle(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0 || errno != EAGAIN;
  }

  void abandon() override {
    if (open_->ended) return;
    if (!open_->finished) return open_->reset(closed_connection());
    open_->ended = closed_connection();
    if (open_->at_end) return open_->close();
    boost::system::error_code ignored;
    open_->socket.cancel(ignored);
    SocketFarewell::begin(open_);
  }

  asio::ip::tcp::socket* socket() override { return open_->ended ? nullptr : &open_->socket; }

 private:
  // Until the socket is ready, or there is another reason to look again.
  static Task<> wait(std::shared_ptr<SocketConnections::Open> open, tcp::socket::wait_type what, Deadline deadline,
                     const PatientDeadline& patience) {
    std::optional<asio::steady_timer> alarm;
    if (!deadline.is_never()) {
      const Deadline until = open->frozen->is_frozen() ? Deadline::after(look_while_frozen) : patience.current();
      alarm.emplace(open->socket.get_executor(), until.time());
      alarm->async_wait([weak = std::weak_ptr(open)](boost::system::error_code cancelled) {
        const auto still = weak.lock();
        boost::system::error_code ignored;
        // Both directions look again, which does no harm.
        if (!cancelled && still && still->socket.is_open()) still->socket.cancel(ignored);
      });
    }
    boost::system::error_code ignored;
    co_await open->socket.async_wait(what, asio::redirect_error(asio::use_awaitable, ignored));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      throw boost::system::system_error(asio::error::operation_aborted);
    }
  }

  std::shared_ptr<SocketConnections::Open> open_;
};

SocketConnections::SocketConnections(std::shared_ptr<const FrozenTime> frozen) : frozen_(std::move(frozen)) {}

SocketConnections::~SocketConnections() { cut(closed_connection()); }

std::unique_ptr<TcpConnection> SocketConnections::add(tcp::socket socket) {
  auto open = std::make_shared<Open>(std::move(socket), frozen_);
  boost::system::error_code ignored;
  open->socket.set_option(tcp::no_delay(true), ignored);
  // The kernel keeps nothing of a connection that is given up, so a reset of the sandbox finds none.
  set_linger(open->socket, {.l_onoff = 1, .l_linger = 0});
  if (cut_) {
    open->reset(*cut_);
  } else {
    open->owner = weak_from_this();
    open->place = open_.insert(open_.end(), open);
  }
  return std::make_unique<SocketConnection>(std::move(open));
}

void SocketConnections::cut(const Error& why) {
  if (!cut_) cut_ = why;
  for (const auto all = std::exchange(open_, {}); const auto& each : all) {
    each->owner.reset();
    each->reset(why);
  }
}

void reset_socket(tcp::socket& socket) {
  if (!socket.is_open()) return;
  set_linger(socket, {.l_onoff = 1, .l_linger = 0});
  // Closing alone does nothing while a program that is being started has a copy.
  const sockaddr nowhere{.sa_family = AF_UNSPEC, .sa_data = {}};
  ::connect(socket.native_handle(), &nowhere, sizeof nowhere);
  boost::system::error_code ignored;
  socket.close(ignored);
}

}  // namespace cloche
