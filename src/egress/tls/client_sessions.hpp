// ClientSessions: TLS sessions with servers, so that a new connection to a server that was verified a moment ago needs
// neither its certificate nor the signatures.
#pragma once

#include <openssl/ssl.h>

#include <chrono>
#include <list>
#include <memory>
#include <string>

#include "core/clock.hpp"
#include "egress/tls/openssl_types.hpp"

namespace cloche::egress {

// It outlives the connections that use it.
class ClientSessions {
 public:
  // A server's certificate is verified again after this time, however often a session was resumed meanwhile.
  static constexpr std::chrono::minutes verified_for{10};
  static constexpr std::size_t most_kept = 256;

  explicit ClientSessions(Clocks clocks = {}) : clocks_(std::move(clocks)) {}
  ClientSessions(const ClientSessions&) = delete;
  ClientSessions& operator=(const ClientSessions&) = delete;

  // Once, for a context of clients that verify servers: its connections may use sessions.
  static void prepare(SSL_CTX& context);

  // Before the handshake: offers the latest session with this server, which is then used up, and keeps one that the
  // server gives. `server` is host and port; the connection must verify that host. False if OpenSSL has no memory.
  bool use(SSL& ssl, std::string server);

  std::size_t size() const { return kept_.size(); }

 private:
  struct Session {
    std::string server;
    WallTime verified;
    std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> session;
  };
  struct Use;
  static int keep(SSL* ssl, SSL_SESSION* session);
  static void forget_use(void*, void* use, CRYPTO_EX_DATA*, int, long, void*);
  static int place_of_use();
  bool is_valid(const Session& session) const;

  Clocks clocks_;
  std::list<Session> kept_;  // the latest first, one for each server
};

}  // namespace cloche::egress
