// TlsStream: TLS over any stream, as its server or as its client.
//
// A stream that ends without TLS's own end was cut off, by the peer or by a third party: reading it fails with
// `unavailable`. Bytes that are not TLS fail with `protocol`. A write returns when the stream below has taken it all,
// so a slow reader slows the writer down.
#pragma once

#include <memory>
#include <string>

#include "core/async/event.hpp"
#include "egress/tls/client_sessions.hpp"
#include "egress/tls/openssl_types.hpp"
#include "http/stream.hpp"

namespace cloche::egress {

// Sessions that a client may resume, with this server: see ClientSessions.
struct Resumption {
  ClientSessions* sessions = nullptr;  // none: each handshake is a whole one
  std::string server;
};

class TlsStream final : public http::Stream {
 public:
  // The handshake as a server. `read_ahead` is what was read from the stream already. On an error the stream is closed.
  static Task<Result<std::unique_ptr<TlsStream>>> accept(std::unique_ptr<http::Stream> below, SslContext context,
                                                         std::string read_ahead, Deadline deadline);
  // The handshake as a client of `host`, a name or an address: `permission_denied` if the server's certificate is not
  // signed by an authority of the context, is not valid now, or is for another host.
  static Task<Result<std::unique_ptr<TlsStream>>> connect(std::unique_ptr<http::Stream> below, SslContext context,
                                                          std::string host, Deadline deadline) {
    return connect(std::move(below), std::move(context), std::move(host), deadline, Resumption());
  }
  static Task<Result<std::unique_ptr<TlsStream>>> connect(std::unique_ptr<http::Stream> below, SslContext context,
                                                          std::string host, Deadline deadline, Resumption from);

  // The handshake as a client of a server whose certificate proves nothing: one in a sandbox, on a connection that
  // leads to that sandbox alone. Its end needs no end of TLS: simple servers close the connection without one.
  static Task<Result<std::unique_ptr<TlsStream>>> connect_unverified(std::unique_ptr<http::Stream> below,
                                                                     SslContext context, Deadline deadline);

  // Sessions of a connection that was cut off can be resumed as well.
  ~TlsStream() override { SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); }
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Whether the handshake resumed an earlier session.
  bool is_resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  // As a server: the name that the client asked for; empty if it asked for none.
  std::string server_name() const;

  Task<Result<std::size_t>> read_some(std::span<char> into, Deadline deadline) override;
  Task<Status> write_all(std::string_view bytes, Deadline deadline) override;
  // Does not wait for the other side's end: read on for that.
  Task<> end_writing(Deadline deadline) override;
  void close() override { below_->close(); }
  bool is_quiet() override;
  // The same after what has come is read: a server sends sessions behind the handshake, which are no bytes for a
  // reader.
  Task<bool> is_quiet_once_read();

 private:
  TlsStream(Executor executor, std::unique_ptr<http::Stream> below, Ssl ssl);
  static Result<std::unique_ptr<TlsStream>> make(const Executor& executor, std::unique_ptr<http::Stream> below,
                                                 SSL_CTX& context);

  Task<Status> shake_hands(Deadline deadline);
  // Takes some more of the stream below. False at its end.
  Task<Result<bool>> receive(Deadline deadline);
  // Sends what OpenSSL wants to send. One caller at a time: others wait, or leave it to the one that is there.
  Task<Status> flush(Deadline deadline);
  Task<Status> flush_from_reader(Deadline deadline);
  Error tls_error(std::string_view step);

  std::unique_ptr<http::Stream> below_;
  Ssl ssl_;
  BIO* incoming_;  // of ssl_
  BIO* outgoing_;
  bool ended_ = false;  // the stream below has
  bool flushing_ = false;
  bool broken_ = false;  // a flush did not come to its end
  bool is_verified_ = true;
  Event flushed_;
};

}  // namespace cloche::egress
