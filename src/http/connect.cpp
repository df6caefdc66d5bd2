// Connecting: unix sockets, TCP, and TLS over TCP.
#include <netinet/tcp.h>
#include <sys/stat.h>

#include <boost/asio/ssl/host_name_verification.hpp>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>

#include "http/socket_stream.hpp"

namespace cloche::http {

namespace {

using UnixSocket = asio::local::stream_protocol::socket;
using TcpSocket = asio::ip::tcp::socket;
using TlsSocket = asio::ssl::stream<TcpSocket>;
using StreamResult = Result<std::unique_ptr<Stream>>;
using asio::ip::tcp;

bool is_cancelled(asio::cancellation_type type) { return type != asio::cancellation_type::none; }

Task<StreamResult> open_unix(Executor executor, std::string path, Deadline deadline) {
  if (path.size() >= sizeof(sockaddr_un::sun_path) || path.find('\0') != path.npos) {
    co_return fail(ErrorCode::invalid_argument, "invalid Unix socket path: " + path);
  }
  const asio::local::stream_protocol::endpoint where(path);
  for (;;) {
    UnixSocket socket(executor);
    boost::system::error_code code;
    {
      const SocketAlarm alarm(socket, deadline);
      co_await socket.async_connect(where, asio::redirect_error(asio::use_awaitable, code));
      const auto state = co_await asio::this_coro::cancellation_state;
      if (code || is_cancelled(state.cancelled())) {
        co_return fail(stream_error("connect", code, alarm.fired(), state.cancelled()));
      }
    }
    // A listener whose queue is full answers EAGAIN, which Asio takes for "in progress" and then for success.
    socket.remote_endpoint(code);
    if (!code) co_return std::make_unique<SocketStream<UnixSocket>>(std::move(socket));
    if (deadline.passed()) co_return fail(ErrorCode::timeout, "connect: the listener's queue is full");
    asio::steady_timer pause(executor, std::chrono::milliseconds(10));
    co_await pause.async_wait(asio::use_awaitable);
  }
}

// What an alarm closes: a resolver can only be cancelled.
struct Lookup {
  tcp::resolver resolver;
  auto get_executor() { return resolver.get_executor(); }
  void close(boost::system::error_code&) { resolver.cancel(); }
};

// Without a lookup where an address was given: lookups of one process wait for each other.
Task<Result<tcp::resolver::results_type>> look_up(Executor executor, std::string host, std::string port,
                                                  Deadline deadline) {
  boost::system::error_code code;
  const auto address = asio::ip::make_address(host, code);
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (!code && error == std::errc() && end == port.data() + port.size()) {
    co_return tcp::resolver::results_type::create(tcp::endpoint(address, number), host, port);
  }
  Lookup lookup{tcp::resolver(executor)};
  const SocketAlarm alarm(lookup, deadline);
  auto addresses = co_await lookup.resolver.async_resolve(host, port, asio::redirect_error(asio::use_awaitable, code));
  const auto state = co_await asio::this_coro::cancellation_state;
  if (code || is_cancelled(state.cancelled())) {
    co_return fail(stream_error("look up " + host, code, alarm.fired(), state.cancelled()));
  }
  co_return addresses;
}

Task<Result<TcpSocket>> open_tcp(Executor executor, std::string host, std::string port, Deadline deadline) {
  CLOCHE_CO_TRY(const auto addresses, co_await look_up(executor, host, port, deadline));
  TcpSocket socket(executor);
  boost::system::error_code code = asio::error::host_not_found;
  for (const auto& address : addresses) {
    boost::system::error_code ignored;
    socket.close(ignored);
    const SocketAlarm alarm(socket, deadline);
    co_await socket.async_connect(address.endpoint(), asio::redirect_error(asio::use_awaitable, code));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (!code && !is_cancelled(state.cancelled())) {
      watch_the_peer(socket);
      co_return socket;
    }
    if (alarm.fired() || is_cancelled(state.cancelled())) {
      co_return fail(stream_error("connect", code, alarm.fired(), state.cancelled()));
    }
  }
  co_return fail(stream_error("connect", code, false, asio::cancellation_type::none));
}

Result<asio::ssl::context> tls_context(const TlsFiles& files) {
  asio::ssl::context context(asio::ssl::context::tls_client);
  boost::system::error_code code;
  context.set_options(
      asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1, code);
  // A text, which may be a key, is not repeated.
  const auto failed = [&](const std::string& what, const std::string& from) {
    return fail(ErrorCode::invalid_argument, "TLS: " + what + (is_pem(from) ? "" : " " + from) + ": " + code.message());
  };
  if (is_pem(files.authority)) {
    context.add_certificate_authority(asio::buffer(files.authority), code);
  } else {
    context.load_verify_file(files.authority, code);
  }
  if (code) return failed("authority", files.authority);
  if (!files.certificate.empty()) {
    if (is_pem(files.certificate)) {
      context.use_certificate_chain(asio::buffer(files.certificate), code);
    } else {
      context.use_certificate_chain_file(files.certificate, code);
    }
    if (code) return failed("certificate", files.certificate);
    if (is_pem(files.key)) {
      context.use_private_key(asio::buffer(files.key), asio::ssl::context::pem, code);
    } else {
      context.use_private_key_file(files.key, asio::ssl::context::pem, code);
    }
    if (code) return failed("key", files.key);
  }
  context.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, code);
  if (code) return failed("verify mode", "");
  return context;
}

using SharedContext = std::shared_ptr<asio::ssl::context>;

// When each file was changed last, and how large it is; a text is itself.
std::string state_of(const TlsFiles& files) {
  std::string state;
  for (const std::string* path : {&files.authority, &files.certificate, &files.key}) {
    struct stat about = {};
    if (!path->empty() && !is_pem(*path) && ::stat(path->c_str(), &about) != 0) about = {};
    state += *path + '\0' + std::to_string(about.st_mtim.tv_sec) + '.' + std::to_string(about.st_mtim.tv_nsec) + '.' +
             std::to_string(about.st_size) + '\0';
  }
  return state;
}

// To read all authorities of a system takes tens of milliseconds, in which nothing else happens on this thread. So a
// context is kept for as long as its files stay the same.
Result<SharedContext> shared_context(const TlsFiles& files) {
  constexpr std::size_t most_kept = 16;
  static std::mutex mutex;
  static std::map<std::string, SharedContext> kept;
  const std::string state = state_of(files);
  const std::lock_guard lock(mutex);
  if (const auto found = kept.find(state); found != kept.end()) return found->second;
  CLOCHE_TRY(auto context, tls_context(files));
  if (kept.size() >= most_kept) kept.clear();
  return kept[state] = std::make_shared<asio::ssl::context>(std::move(context));
}

bool is_address(const std::string& host) {
  boost::system::error_code code;
  asio::ip::make_address(host, code);
  return !code;
}

Task<StreamResult> open_tls(Executor executor, TlsEndpoint endpoint, Deadline deadline) {
  CLOCHE_CO_TRY(const SharedContext context, shared_context(endpoint.files));
  CLOCHE_CO_TRY(auto socket, co_await open_tcp(executor, endpoint.host, endpoint.port, deadline));
  TlsSocket tls(std::move(socket), *context);
  boost::system::error_code code;
  const std::string& name = endpoint.server_name.empty() ? endpoint.host : endpoint.server_name;
  tls.set_verify_callback(asio::ssl::host_name_verification(name), code);
  if (code) co_return fail(ErrorCode::internal, "TLS: " + code.message());
  // Server names in the handshake are for names only.
  if (!is_address(name)) SSL_set_tlsext_host_name(tls.native_handle(), name.c_str());
  const SocketAlarm alarm(tls.lowest_layer(), deadline);
  co_await tls.async_handshake(asio::ssl::stream_base::client, asio::redirect_error(asio::use_awaitable, code));
  const auto state = co_await asio::this_coro::cancellation_state;
  if (code || is_cancelled(state.cancelled())) {
    co_return fail(stream_error("TLS handshake", code, alarm.fired(), state.cancelled()));
  }
  co_return std::make_unique<SocketStream<TlsSocket>>(std::move(tls));
}

Task<StreamResult> open_plain(Executor executor, TcpEndpoint endpoint, Deadline deadline) {
  CLOCHE_CO_TRY(auto socket, co_await open_tcp(executor, endpoint.host, endpoint.port, deadline));
  co_return std::make_unique<SocketStream<TcpSocket>>(std::move(socket));
}

}  // namespace

void watch_the_peer(TcpSocket& socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int fd = socket.native_handle();
  const int idle = 30, interval = 10, count = 3, unanswered_ms = 60'000;
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

Error stream_error(std::string_view step, const boost::system::error_code& code, bool deadline_passed,
                   asio::cancellation_type cancelled) {
  if (is_cancelled(cancelled)) throw boost::system::system_error(asio::error::operation_aborted);
  if (deadline_passed) return Error{ErrorCode::timeout, std::string(step) + ": timed out"};
  const bool closed_by_us = code == asio::error::operation_aborted || code == asio::error::bad_descriptor;
  if (closed_by_us) return Error{ErrorCode::cancelled, std::string(step) + ": the connection was closed"};
  const bool refused = code == asio::error::access_denied || code.category() == asio::error::get_ssl_category();
  return Error{refused ? ErrorCode::permission_denied : ErrorCode::unavailable,
               std::string(step) + ": " + code.message()};
}

Task<StreamResult> open_stream(Executor executor, const Endpoint& endpoint, Deadline deadline) {
  if (const auto* local = std::get_if<UnixEndpoint>(&endpoint)) {
    co_return co_await open_unix(executor, local->path, deadline);
  }
  if (const auto* plain = std::get_if<TcpEndpoint>(&endpoint)) {
    co_return co_await open_plain(executor, *plain, deadline);
  }
  const TlsEndpoint& tls = std::get<TlsEndpoint>(endpoint);
  co_return co_await open_tls(executor, tls, deadline);
}

}  // namespace cloche::http
