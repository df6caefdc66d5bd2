#include "http/server/listener.hpp"

#include <sys/socket.h>

#include <optional>

#include "http/server/tls_context.hpp"
#include "http/server/unix_socket_file.hpp"
#include "http/socket_stream.hpp"

namespace cloche::http {

namespace {

using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using TlsSocket = asio::ssl::stream<tcp::socket>;
using Listeners = std::vector<std::unique_ptr<Listener>>;

Error accept_error(const boost::system::error_code& code) {
  const bool closed = code == asio::error::operation_aborted || code == asio::error::bad_descriptor;
  if (closed) return Error{ErrorCode::cancelled, "accept: the listener is closed"};
  return errno_error("accept", code.value());
}

// An IPv4 client of a socket for both versions has an address of its own version.
std::string address_text(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return address.to_string();
}

// The handshake of one client; in a struct of its own because it outlives the function that made it.
struct Handshake {
  std::shared_ptr<tcp::socket> socket;
  std::shared_ptr<asio::ssl::context> context;

  static Task<Result<std::unique_ptr<Stream>>> run(std::shared_ptr<tcp::socket> socket,
                                                   std::shared_ptr<asio::ssl::context> context, Deadline deadline) {
    TlsSocket tls(std::move(*socket), *context);
    boost::system::error_code code;
    const SocketAlarm alarm(tls.lowest_layer(), deadline);
    co_await tls.async_handshake(asio::ssl::stream_base::server, asio::redirect_error(asio::use_awaitable, code));
    const auto state = co_await asio::this_coro::cancellation_state;
    const bool cancelled = state.cancelled() != asio::cancellation_type::none;
    if (code || cancelled) co_return fail(stream_error("TLS handshake", code, alarm.fired(), state.cancelled()));
    co_return std::make_unique<SocketStream<TlsSocket>>(std::move(tls));
  }

  Task<Result<std::unique_ptr<Stream>>> operator()(Deadline deadline) const { return run(socket, context, deadline); }
};

class TcpListener final : public Listener {
 public:
  TcpListener(tcp::acceptor acceptor, ListensOn where, std::optional<ServerCertificate> certificate,
              std::shared_ptr<asio::ssl::context> tls)
      : acceptor_(std::move(acceptor)),
        where_(std::move(where)),
        certificate_(std::move(certificate)),
        tls_(std::move(tls)) {}

  Task<Result<Arrival>> accept() override {
    tcp::endpoint from;
    boost::system::error_code code;
    auto socket = co_await acceptor_.async_accept(from, asio::redirect_error(asio::use_awaitable, code));
    if (code) co_return fail(accept_error(code));
    watch_the_peer(socket);
    Arrival arrival;
    arrival.peer.address = address_text(from.address());
    arrival.peer.port = from.port();
    boost::system::error_code unknown;
    const auto ours = socket.local_endpoint(unknown);
    if (!unknown) {
      arrival.peer.local_address = address_text(ours.address());
      arrival.peer.local_port = ours.port();
    }
    arrival.peer.encrypted = tls_ != nullptr;
    if (tls_) {
      arrival.handshake = Handshake{std::make_shared<tcp::socket>(std::move(socket)), tls_};
    } else {
      arrival.stream = std::make_unique<SocketStream<tcp::socket>>(std::move(socket));
    }
    co_return arrival;
  }

  void close() override {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  }
  const ListensOn& where() const override { return where_; }

  Result<std::function<void()>> prepare_reload() override {
    if (!certificate_) return nullptr;
    CLOCHE_TRY(auto fresh, make_tls_context(*certificate_));
    return [this, fresh = std::move(fresh)] { tls_ = fresh; };
  }

 private:
  tcp::acceptor acceptor_;
  ListensOn where_;
  std::optional<ServerCertificate> certificate_;
  std::shared_ptr<asio::ssl::context> tls_;
};

class UnixListener final : public Listener {
 public:
  UnixListener(Local::acceptor acceptor, std::string path, UnixSocketFile file)
      : acceptor_(std::move(acceptor)), file_(std::move(file)) {
    where_.path = std::move(path);
  }

  Task<Result<Arrival>> accept() override {
    boost::system::error_code code;
    auto socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, code));
    if (code) co_return fail(accept_error(code));
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
      co_return fail_errno("accept: read the peer's credentials");
    }
    Arrival arrival;
    arrival.peer.process = Peer::Process{credentials.pid, credentials.uid, credentials.gid};
    arrival.stream = std::make_unique<SocketStream<Local::socket>>(std::move(socket));
    co_return arrival;
  }

  void close() override {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    file_.reset();
  }
  const ListensOn& where() const override { return where_; }
  Result<std::function<void()>> prepare_reload() override { return nullptr; }

 private:
  Local::acceptor acceptor_;
  std::optional<UnixSocketFile> file_;
  ListensOn where_;
};

Result<tcp::acceptor> bind_tcp(const Executor& executor, const tcp::endpoint& endpoint) {
  tcp::acceptor acceptor(executor);
  boost::system::error_code code;
  acceptor.open(endpoint.protocol(), code);
  if (!code) acceptor.set_option(asio::socket_base::reuse_address(true), code);
  if (!code && endpoint.protocol() == tcp::v6()) {
    acceptor.set_option(asio::ip::v6_only(!endpoint.address().is_unspecified()), code);
  }
  if (!code) acceptor.bind(endpoint, code);
  if (!code) acceptor.listen(asio::socket_base::max_listen_connections, code);
  if (code) {
    return fail(errno_error("listen on " + endpoint.address().to_string() + " port " + std::to_string(endpoint.port()),
                            code.value()));
  }
  return acceptor;
}

Task<Result<Listeners>> open_tcp(Executor executor, ListenTcp listen) {
  std::shared_ptr<asio::ssl::context> tls;
  if (listen.certificate) {
    CLOCHE_CO_TRY(tls, make_tls_context(*listen.certificate));
  }
  tcp::resolver resolver(executor);
  boost::system::error_code code;
  const auto flags = asio::ip::resolver_base::passive;
  const std::string port = std::to_string(listen.port);
  auto addresses =
      co_await resolver.async_resolve(listen.host, port, flags, asio::redirect_error(asio::use_awaitable, code));
  if (code) co_return fail(ErrorCode::invalid_argument, "listen on " + listen.host + ": " + code.message());
  Listeners listeners;
  for (const auto& address : addresses) {
    tcp::endpoint endpoint = address.endpoint();
    // All addresses of a name have the same port, the first free one of the first address if need be.
    endpoint.port(listeners.empty() ? listen.port : listeners.front()->where().port);
    CLOCHE_CO_TRY(auto acceptor, bind_tcp(executor, endpoint));
    ListensOn where;
    where.address = endpoint.address().to_string();
    where.port = acceptor.local_endpoint().port();
    where.encrypted = tls != nullptr;
    listeners.push_back(std::make_unique<TcpListener>(std::move(acceptor), std::move(where), listen.certificate, tls));
  }
  co_return listeners;
}

Result<Listeners> open_unix(const Executor& executor, const ListenUnix& listen) {
  CLOCHE_TRY(auto bound, UnixSocketFile::bind(listen.path, listen.mode));
  Local::acceptor acceptor(executor);
  boost::system::error_code code;
  acceptor.assign(Local(), bound.socket.get(), code);
  if (code) return fail(errno_error("listen on " + listen.path, code.value()));
  bound.socket.release();
  Listeners listeners;
  listeners.push_back(std::make_unique<UnixListener>(std::move(acceptor), listen.path, std::move(bound.file)));
  return listeners;
}

}  // namespace

Task<Result<Listeners>> open_listeners(Executor executor, const ListenOn& listen) {
  if (const auto* local = std::get_if<ListenUnix>(&listen)) co_return open_unix(executor, *local);
  const ListenTcp& over_tcp = std::get<ListenTcp>(listen);
  co_return co_await open_tcp(executor, over_tcp);
}

}  // namespace cloche::http
