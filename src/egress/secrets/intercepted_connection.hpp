// InterceptedConnection: the requests of one connection whose TLS the broker ends, one after the other. Private to this
// folder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/async/event.hpp"
#include "egress/broker/interceptor.hpp"
#include "egress/secrets/intercepted_head.hpp"
#include "egress/secrets/secret_store.hpp"
#include "egress/tls/client_sessions.hpp"
#include "egress/tls/openssl_types.hpp"
#include "egress/tls/tls_stream.hpp"
#include "http/server/exchange.hpp"
#include "http/server/forwarding.hpp"

namespace cloche::egress {

// How servers are connected to.
struct ServerTls {
  SslContext client;
  ClientSessions& sessions;
};

class InterceptedConnection {
 public:
  InterceptedConnection(const Executor& executor, Intercepted& connection, SecretStore& secrets, ServerTls tls);

  // Connects to the server, so that the first request finds it connected; meanwhile the program shakes hands. What
  // fails is the answer to the first request. Returns when it is cancelled.
  Task<> prepare();
  // Answers a request: with the server's response, or with a refusal.
  Task<> handle(http::Exchange& exchange);

 private:
  // A response to a request, or why there is none.
  Task<OrRefusal<>> carry(http::Exchange& exchange, Account& account);
  // Sends the request to the server, over the connection that is kept or over a new one.
  Task<OrRefusal<>> forward(http::Exchange& exchange, Account& account, http::ForwardedRequest request,
                            Redactor& redactor);
  Task<Result<std::vector<std::shared_ptr<const Secret>>>> secrets_for(const Policy& policy);
  OrRefusal<http::ForwardedRequest> make_request(const http::Exchange& exchange, const Rule* rule,
                                                 const Secret* secret) const;
  OrRefusal<> check_host(const http::Exchange& exchange) const;
  Task<OrRefusal<>> connect();
  Task<OrRefusal<>> connect_anew();
  Task<OrRefusal<>> secure();

  Intercepted& connection_;
  SecretStore& secrets_;
  ServerTls tls_;
  std::string host_;  // name or address, as its certificate has it
  bool preparing_ = false;
  Event prepared_;
  std::optional<Refusal> no_connection_;  // why it could not be prepared
  std::optional<Refusal> no_tls_;
  std::unique_ptr<http::Stream> plain_;  // connected, and not yet TLS
  std::unique_ptr<TlsStream> server_;    // verified
};

}  // namespace cloche::egress
