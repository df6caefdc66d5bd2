#include "egress/tls/tls_stream.hpp"

#include <openssl/x509v3.h>

#include <algorithm>
#include <array>

#include "crypto/openssl_errors.hpp"
#include "egress/policy/address.hpp"

namespace cloche::egress {

namespace {

constexpr std::size_t cipher_piece = 32 << 10;
constexpr std::size_t plain_piece = 64 << 10;  // encrypted at a time
// Records that OpenSSL itself sends in response to the peer's: more of them unsent is a peer that only provokes them.
constexpr int most_unsent_by_reader = 64 << 10;
constexpr std::chrono::seconds alert_patience{2};
constexpr std::chrono::seconds time_for_what_is_there{2};
constexpr int most_pieces_of_sessions = 4;

bool set_expected_host(SSL& ssl, const std::string& host) {
  if (Address::parse(host)) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(&ssl), host.c_str()) == 1;
  SSL_set_hostflags(&ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(&ssl, host.c_str()) == 1 && SSL_set_tlsext_host_name(&ssl, host.c_str()) == 1;
}

}  // namespace

TlsStream::TlsStream(Executor executor, std::unique_ptr<http::Stream> below, Ssl ssl)
    : below_(std::move(below)),
      ssl_(std::move(ssl)),
      incoming_(SSL_get_rbio(ssl_.get())),
      outgoing_(SSL_get_wbio(ssl_.get())),
      flushed_(executor) {}

Result<std::unique_ptr<TlsStream>> TlsStream::make(const Executor& executor, std::unique_ptr<http::Stream> below,
                                                   SSL_CTX& context) {
  Ssl ssl(SSL_new(&context));
  Bio incoming(BIO_new(BIO_s_mem()));
  Bio outgoing(BIO_new(BIO_s_mem()));
  if (!ssl || !incoming || !outgoing) return fail(ErrorCode::internal, "TLS: " + take_openssl_error());
  // An empty buffer is not the end.
  BIO_set_mem_eof_return(incoming.get(), -1);
  SSL_set_bio(ssl.get(), incoming.release(), outgoing.release());
  return std::unique_ptr<TlsStream>(new TlsStream(executor, std::move(below), std::move(ssl)));
}

Task<Result<std::unique_ptr<TlsStream>>> TlsStream::accept(std::unique_ptr<http::Stream> below, SslContext context,
                                                           std::string read_ahead, Deadline deadline) {
  const auto executor = co_await asio::this_coro::executor;
  CLOCHE_CO_TRY(std::unique_ptr<TlsStream> stream, make(executor, std::move(below), *context));
  SSL_set_accept_state(stream->ssl_.get());
  if (!read_ahead.empty()) BIO_write(stream->incoming_, read_ahead.data(), static_cast<int>(read_ahead.size()));
  CLOCHE_CO_CHECK(co_await stream->shake_hands(deadline));
  co_return stream;
}

Task<Result<std::unique_ptr<TlsStream>>> TlsStream::connect(std::unique_ptr<http::Stream> below, SslContext context,
                                                            std::string host, Deadline deadline, Resumption from) {
  const auto executor = co_await asio::this_coro::executor;
  CLOCHE_CO_TRY(std::unique_ptr<TlsStream> stream, make(executor, std::move(below), *context));
  SSL* ssl = stream->ssl_.get();
  SSL_set_connect_state(ssl);
  SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
  if (!set_expected_host(*ssl, host)) {
    co_return fail(ErrorCode::invalid_argument, "TLS: invalid host name '" + host + "'");
  }
  if (from.sessions != nullptr && !from.sessions->use(*ssl, std::move(from.server))) {
    co_return fail(ErrorCode::internal, "TLS: " + take_openssl_error());
  }
  CLOCHE_CO_CHECK(co_await stream->shake_hands(deadline));
  co_return stream;
}

Task<Result<std::unique_ptr<TlsStream>>> TlsStream::connect_unverified(std::unique_ptr<http::Stream> below,
                                                                       SslContext context, Deadline deadline) {
  const auto executor = co_await asio::this_coro::executor;
  CLOCHE_CO_TRY(std::unique_ptr<TlsStream> stream, make(executor, std::move(below), *context));
  SSL_set_connect_state(stream->ssl_.get());
  SSL_set_verify(stream->ssl_.get(), SSL_VERIFY_NONE, nullptr);
  stream->is_verified_ = false;
  CLOCHE_CO_CHECK(co_await stream->shake_hands(deadline));
  co_return stream;
}

Task<Status> TlsStream::shake_hands(Deadline deadline) {
  const std::string_view step = "TLS handshake";
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    if (done == 1) co_return co_await flush(deadline);
    if (SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ) {
      Error error = tls_error(step);
      // The alert says why to the other side, if it still listens.
      (void)co_await flush(deadline.sooner(Deadline::after(alert_patience)));
      close();
      co_return fail(std::move(error));
    }
    CLOCHE_CO_CHECK(co_await flush(deadline));
    CLOCHE_CO_TRY(const bool more, co_await receive(deadline));
    if (!more) {
      close();
      co_return fail(ErrorCode::unavailable, "TLS handshake: the other side closed the connection");
    }
  }
}

Error TlsStream::tls_error(std::string_view step) {
  const long verdict = SSL_get_verify_result(ssl_.get());
  std::string reason = take_openssl_error();
  if (is_verified_ && verdict != X509_V_OK) {
    return Error{ErrorCode::permission_denied, std::string(step) + ": the server's certificate is not accepted: " +
                                                   X509_verify_cert_error_string(verdict)};
  }
  return Error{ErrorCode::protocol, std::string(step) + ": " + reason};
}

std::string TlsStream::server_name() const {
  const char* name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
  return name != nullptr ? name : "";
}

Task<Result<bool>> TlsStream::receive(Deadline deadline) {
  std::array<char, cipher_piece> buffer;
  CLOCHE_CO_TRY(const std::size_t count, co_await below_->read_some(buffer, deadline));
  if (count == 0) {
    ended_ = true;
    co_return false;
  }
  if (BIO_write(incoming_, buffer.data(), static_cast<int>(count)) != static_cast<int>(count)) {
    co_return fail(ErrorCode::internal, "TLS: " + take_openssl_error());
  }
  co_return true;
}

Task<Result<std::size_t>> TlsStream::read_some(std::span<char> into, Deadline deadline) {
  if (into.empty()) co_return std::size_t{0};
  for (;;) {
    ERR_clear_error();
    std::size_t count = 0;
    const int done = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
    const int why = done == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), done);
    std::optional<Error> error;
    if (why == SSL_ERROR_SSL || why == SSL_ERROR_SYSCALL) error = tls_error("TLS read");
    auto sent = co_await flush_from_reader(deadline);
    if (error) {
      close();
      co_return fail(std::move(*error));
    }
    if (why == SSL_ERROR_NONE) co_return count;
    if (why == SSL_ERROR_ZERO_RETURN) co_return std::size_t{0};
    if (!sent) co_return fail(std::move(sent).error());
    if (ended_ && is_verified_) co_return fail(ErrorCode::unavailable, "TLS read: the connection was cut off");
    if (ended_) co_return std::size_t{0};
    CLOCHE_CO_CHECK(co_await receive(deadline));
  }
}

Task<Status> TlsStream::flush_from_reader(Deadline deadline) {
  if (BIO_pending(outgoing_) == 0) co_return Status{};
  // The writer that is at it sends this too.
  if (!flushing_) co_return co_await flush(deadline);
  if (BIO_pending(outgoing_) <= most_unsent_by_reader) co_return Status{};
  close();
  co_return fail(ErrorCode::protocol, "TLS read: the other side requires responses and does not read them");
}

Task<Status> TlsStream::flush(Deadline deadline) {
  while (flushing_) {
    co_await flushed_.wait(deadline);
    if (flushing_ && deadline.passed()) {
      close();
      co_return fail(ErrorCode::timeout, "TLS write: timed out");
    }
  }
  if (broken_) co_return fail(ErrorCode::unavailable, "TLS write: the connection is broken");
  struct Flushing {
    explicit Flushing(TlsStream& s) : stream(s) { stream.flushing_ = true; }
    ~Flushing() {
      stream.flushing_ = false;
      stream.broken_ = !done;
      stream.flushed_.notify();
    }
    TlsStream& stream;
    bool done = false;
  } flushing(*this);
  std::string bytes;
  while (const auto pending = static_cast<std::size_t>(BIO_pending(outgoing_))) {
    bytes.resize(pending);
    BIO_read(outgoing_, bytes.data(), static_cast<int>(pending));
    CLOCHE_CO_CHECK(co_await below_->write_all(bytes, deadline));
  }
  flushing.done = true;
  co_return Status{};
}

Task<Status> TlsStream::write_all(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    if (broken_) co_return fail(ErrorCode::unavailable, "TLS write: the connection is broken");
    const std::string_view piece = bytes.substr(0, plain_piece);
    ERR_clear_error();
    std::size_t taken = 0;
    if (SSL_write_ex(ssl_.get(), piece.data(), piece.size(), &taken) != 1) {
      Error error = tls_error("TLS write");
      close();
      co_return fail(std::move(error));
    }
    bytes.remove_prefix(taken);
    CLOCHE_CO_CHECK(co_await flush(deadline));
  }
  co_return Status{};
}

Task<> TlsStream::end_writing(Deadline deadline) {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
  (void)co_await flush(deadline);
  co_await below_->end_writing(deadline);
}

bool TlsStream::is_quiet() {
  return !ended_ && SSL_has_pending(ssl_.get()) == 0 && BIO_pending(incoming_) == 0 && below_->is_quiet();
}

Task<bool> TlsStream::is_quiet_once_read() {
  const Deadline at_once = Deadline::after(time_for_what_is_there);
  // Sessions are small: who sends more than a few pieces sends something else.
  for (int pieces = 0; !below_->is_quiet(); ++pieces) {
    if (pieces == most_pieces_of_sessions) co_return false;
    const auto more = co_await receive(at_once);
    if (!more || !*more) co_return false;
  }
  ERR_clear_error();
  char byte = 0;
  std::size_t count = 0;
  const int done = SSL_peek_ex(ssl_.get(), &byte, 1, &count);
  const bool has_no_bytes = done != 1 && SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ;
  co_return has_no_bytes&& is_quiet();
}

}  // namespace cloche::egress
