// SecretInterceptor: carries connections to hosts whose requests get a secret.
//
// It ends the program's TLS with a certificate of the server's own authority, puts the secret on each request, sends it
// to the real server, whose certificate is verified, and passes the response back without the secret. HTTP/1.1 alone;
// WebSocket can be switched to.
#pragma once

#include <memory>

#include "egress/broker/interceptor.hpp"
#include "egress/secrets/secret_store.hpp"
#include "egress/tls/certificate_authority.hpp"
#include "egress/tls/client_sessions.hpp"
#include "http/server/server.hpp"

namespace cloche::egress {

class InterceptedConnection;

struct SecretInterceptorOptions {
  std::shared_ptr<CertificateAuthority> authority;
  SslContext client;  // make_client_context
  SecretSources secrets;
  // Of a program's connection between two requests, and of a body that does not come.
  std::chrono::steady_clock::duration idle = std::chrono::minutes(5);
};

class SecretInterceptor final : public Interceptor {
 public:
  SecretInterceptor(Executor executor, SecretInterceptorOptions options);
  ~SecretInterceptor() override;

  Task<Status> serve(std::unique_ptr<http::Stream> program, Intercepted& connection) override;

 private:
  Task<Status> serve_program(std::unique_ptr<http::Stream> program, const Destination& destination, Deadline deadline,
                             InterceptedConnection& requests);

  std::shared_ptr<CertificateAuthority> authority_;
  SslContext client_;
  ClientSessions sessions_;
  SecretStore secrets_;
  http::Server server_;  // without a listener: reads requests of programs
};

}  // namespace cloche::egress
