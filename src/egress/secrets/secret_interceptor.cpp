#include "egress/secrets/secret_interceptor.hpp"

#include <boost/system/system_error.hpp>

#include "core/async/first_of.hpp"
#include "egress/policy/host_name.hpp"
#include "egress/secrets/intercepted_connection.hpp"
#include "egress/tls/tls_stream.hpp"

namespace cloche::egress {

namespace {

http::ServerOptions request_reader_options(std::chrono::steady_clock::duration idle) {
  http::ServerOptions options;
  options.role = http::Role::proxy;
  http::ServerLimits& limits = options.limits;
  // As generous as servers of the internet are.
  limits.head.size = kib(64);
  limits.head.request_line = kib(32);
  limits.head.fields = 200;
  limits.idle = idle;
  // A body or a reader may pause as long as any connection may.
  limits.body_window = idle;
  limits.body_rate = Bytes{1};
  limits.write_stall = idle;
  return options;
}

// The certificate is for the destination. A program that asks for another host must not take it for that one's.
Status check_name_asked_for(const std::string& asked, const Destination& destination) {
  if (asked.empty()) return {};
  const auto name = normalize_host(asked);
  if (name && *name == destination.name) return {};
  return fail(ErrorCode::permission_denied, "the TLS server name is not the name that the connection is for");
}

}  // namespace

SecretInterceptor::SecretInterceptor(Executor executor, SecretInterceptorOptions options)
    : authority_(std::move(options.authority)),
      client_(std::move(options.client)),
      secrets_(executor, std::move(options.secrets)),
      server_(executor, request_reader_options(options.idle), nullptr) {
  ClientSessions::prepare(*client_);
}

SecretInterceptor::~SecretInterceptor() = default;

Task<Status> SecretInterceptor::serve(std::unique_ptr<http::Stream> program, Intercepted& connection) {
  const auto executor = co_await asio::this_coro::executor;
  ServerTls tls{client_, sessions_};
  InterceptedConnection requests(executor, connection, secrets_, std::move(tls));
  auto serving =
      serve_program(std::move(program), connection.destination(), Deadline::after(connection.head()), requests);
  auto ended = co_await first_of(std::move(serving), requests.prepare());
  if (auto* served = std::get_if<0>(&ended)) co_return std::move(*served);
  throw boost::system::system_error(asio::error::operation_aborted);
}

Task<Status> SecretInterceptor::serve_program(std::unique_ptr<http::Stream> program, const Destination& destination,
                                              Deadline deadline, InterceptedConnection& requests) {
  const std::string host = destination.name.empty() ? destination.address->text() : destination.name;
  CLOCHE_CO_TRY(SslContext context, authority_->context_for(host));
  auto accepted = co_await TlsStream::accept(std::move(program), std::move(context), std::string(), deadline);
  if (!accepted) co_return fail(std::move(accepted).error().at("TLS of the program"));
  CLOCHE_CO_CHECK(check_name_asked_for((*accepted)->server_name(), destination));
  http::Handler handler = [&requests](http::Exchange& exchange) { return requests.handle(exchange); };
  http::Peer peer;
  peer.encrypted = true;
  co_await server_.serve(std::move(*accepted), std::move(peer), std::move(handler));
  co_return Status{};
}

}  // namespace cloche::egress
