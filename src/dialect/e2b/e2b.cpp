#include "dialect/e2b/e2b.hpp"

#include "dialect/e2b/errors.hpp"

namespace cloche::dialect::e2b {

Result<std::unique_ptr<E2b>> E2b::open(Surroundings around, config::E2bSettings settings, const std::string& key_file,
                                       DataServices services) {
  CLOCHE_TRY(SandboxKeys keys, SandboxKeys::open(key_file));
  return std::unique_ptr<E2b>(new E2b(around, std::move(settings), std::move(keys), std::move(services)));
}

E2b::E2b(Surroundings around, config::E2bSettings settings, SandboxKeys keys, DataServices services)
    : parts_{around, settings, Sandboxes(around.sessions, std::move(keys), settings.public_traffic)},
      control_(parts_),
      data_(parts_, std::move(services)) {}

Routed E2b::route(const http::Exchange& exchange) const {
  return route_of(exchange.method(), exchange.target(), exchange.fields(), parts_.settings.domain);
}

bool E2b::claims(const http::Exchange& exchange) const { return route(exchange).to != Destination::own_routes; }

Task<> E2b::serve(http::Exchange& exchange) {
  Routed routed = route(exchange);
  switch (routed.to) {
    case Destination::control: return control_.serve(exchange);
    case Destination::sandbox: return data_.serve(exchange, std::move(routed));
    case Destination::signed_file: return data_.serve_signed_file(exchange);
    case Destination::own_routes:
    case Destination::invalid: break;
  }
  return answer_error(exchange, 400, std::move(routed.why));
}

Task<> E2b::refuse(http::Exchange& exchange, unsigned status, std::string why) {
  return answer_error(exchange, status, std::move(why));
}

}  // namespace cloche::dialect::e2b
