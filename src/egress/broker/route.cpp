#include "egress/broker/route.hpp"

#include "egress/broker/counted_stream.hpp"

namespace cloche::egress {

namespace {

constexpr std::size_t most_addresses = 8;
constexpr std::uint16_t http_port = 80;

Decision decide_one(const Live& live, const Use& use, const Address& address) {
  const Policy& policy = *live.sandbox.policy;
  Decision decision = decide_address(policy, use.destination, address, use.carriage);
  if (decision.allowed && use.request) {
    decision = decide_request(policy, use.destination, address, use.request->method, use.request->path);
  }
  if (decision.allowed && live.sandbox.broker->is_forbidden(address, use.destination.port)) {
    return Decision::no(address.text() + ":" + std::to_string(use.destination.port) +
                        " is where this service listens; no rule can allow it");
  }
  return decision;
}

// With an upstream proxy, which resolves for itself, every address must be allowed; else one is enough.
OrRefusal<Route> choose(const Live& live, const Use& use, const std::vector<Address>& addresses, Decision decided) {
  Route route{.destination = use.destination, .addresses = {}, .rule = std::move(decided.rule)};
  const bool through_proxy = live.sandbox.broker->options.upstream.has_value();
  std::optional<Refusal> first;
  for (const Address& address : addresses) {
    Decision decision = decide_one(live, use, address);
    if (!decision.allowed) {
      if (!first) first = Refusal::denied(std::move(decision));
      if (through_proxy) return std::unexpected(std::move(*first));
      continue;
    }
    if (route.rule.empty() || use.request) route.rule = std::move(decision.rule);
    if (route.addresses.size() < most_addresses) route.addresses.push_back(address);
  }
  if (route.addresses.empty() && first) return std::unexpected(std::move(*first));
  if (addresses.empty()) {
    Decision decision = decide_again(*live.sandbox.policy, use);
    if (!decision.allowed) return std::unexpected(Refusal::denied(std::move(decision)));
    route.rule = std::move(decision.rule);
  }
  return route;
}

Task<Result<std::vector<Address>>> resolve(const Live& live, Destination destination) {
  std::vector<Address> addresses;
  if (destination.address) {
    addresses.push_back(*destination.address);
    co_return addresses;
  }
  const auto broker = live.sandbox.broker;
  auto resolved = co_await broker->resolver->resolve(destination.name, Deadline::after(broker->options.resolve));
  // A name that only the upstream proxy knows.
  if (!resolved && broker->options.upstream) co_return addresses;
  co_return resolved;
}

Task<Result<std::unique_ptr<http::Stream>>> open_first(Live& live, const Route& route) {
  const BrokerState& broker = *live.sandbox.broker;
  const Deadline deadline = Deadline::after(broker.options.connect);
  if (broker.options.upstream) {
    if (!route.addresses.empty()) live.use->address = route.addresses.front();
    co_return co_await connect_through(broker.executor, *broker.options.upstream, host_and_port(route.destination),
                                       deadline);
  }
  std::optional<Error> last;
  for (std::size_t i = 0; i < route.addresses.size(); ++i) {
    // Each of those that are left gets its share of the time.
    const auto share = deadline.left() / static_cast<long>(route.addresses.size() - i);
    const http::Endpoint endpoint =
        http::TcpEndpoint{route.addresses[i].text(), std::to_string(route.destination.port)};
    auto stream = co_await http::open_stream(broker.executor, endpoint, Deadline::after(share));
    if (stream) {
      live.use->address = route.addresses[i];
      co_return stream;
    }
    last = std::move(stream).error();
  }
  co_return fail(last ? std::move(*last) : Error{ErrorCode::unavailable, "no address"});
}

}  // namespace

std::string host_and_port(const Destination& destination) {
  std::string host = destination.name.empty() ? destination.address->text() : destination.name;
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return host + ":" + std::to_string(destination.port);
}

std::string authority_of(const Destination& destination) {
  std::string authority = host_and_port(destination);
  if (destination.port == http_port) authority.resize(authority.rfind(':'));
  return authority;
}

Task<OrRefusal<Route>> find_route(Live& live) {
  const Use use = *live.use;
  Decision decision = decide_destination(*live.sandbox.policy, use.destination, use.carriage);
  if (!decision.allowed) co_return std::unexpected(Refusal::denied(std::move(decision)));
  if (auto admitted = live.admit(); !admitted) co_return std::unexpected(std::move(admitted).error());
  auto addresses = co_await resolve(live, use.destination);
  if (!addresses) co_return std::unexpected(Refusal::failed(addresses.error()));
  // The policy may have changed meanwhile.
  decision = decide_destination(*live.sandbox.policy, use.destination, use.carriage);
  if (!decision.allowed) co_return std::unexpected(Refusal::denied(std::move(decision)));
  co_return choose(live, use, *addresses, std::move(decision));
}

Task<OrRefusal<std::unique_ptr<http::Stream>>> connect_route(Live& live, const Route& route,
                                                             std::shared_ptr<Traffic> traffic) {
  auto stream = co_await open_first(live, route);
  if (!stream) {
    Error error = std::move(stream).error().at("connect to " + host_and_port(route.destination));
    co_return std::unexpected(Refusal::failed(error));
  }
  if (Decision decision = decide_again(*live.sandbox.policy, *live.use); !decision.allowed) {
    co_return std::unexpected(Refusal::denied(std::move(decision)));
  }
  co_return std::make_unique<CountedStream>(std::move(*stream), std::move(traffic), live.sandbox.books,
                                            live.sandbox.meter);
}

}  // namespace cloche::egress
