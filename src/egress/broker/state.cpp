#include "egress/broker/state.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <cstring>

#include "core/async/exceptions.hpp"

namespace cloche::egress {

namespace {

http::ServerOptions proxy_server_options(const BrokerOptions& options) {
  http::ServerOptions server;
  server.role = http::Role::proxy;
  http::ServerLimits& limits = server.limits;
  // As generous as servers of the internet are.
  limits.head.size = kib(64);
  limits.head.request_line = kib(32);
  limits.head.fields = 200;
  limits.head_time = options.head;
  limits.idle = options.idle;
  // A body or a reader may pause as long as any connection may.
  limits.body_window = options.idle;
  limits.body_rate = Bytes{1};
  limits.write_stall = options.idle;
  return server;
}

bool is_unspecified(const Address& address) {
  return std::ranges::all_of(address.bytes(), [](std::uint8_t byte) { return byte == 0; });
}

bool is_loopback(const Address& address) {
  const char* use = reserved_use(address);
  return use != nullptr && std::string_view(use) == "loopback";
}

template <std::size_t N>
std::array<std::uint8_t, N> copied_bytes(const void* from) {
  std::array<std::uint8_t, N> bytes;
  std::memcpy(bytes.data(), from, N);
  return bytes;
}

bool is_of_this_host(const Address& address) {
  if (is_loopback(address) || is_unspecified(address)) return true;
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return true;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(found, &::freeifaddrs);
  for (const ifaddrs* each = found; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    if (each->ifa_addr->sa_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
      if (Address::v4(copied_bytes<4>(&v4->sin_addr)) == address) return true;
    } else if (each->ifa_addr->sa_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr);
      if (Address::v6(copied_bytes<16>(&v6->sin6_addr)) == address) return true;
    }
  }
  return false;
}

}  // namespace

BrokerState::BrokerState(Executor e, BrokerOptions o)
    : executor(std::move(e)),
      options(std::move(o)),
      resolver(options.resolver ? options.resolver : make_system_resolver(executor)),
      server(executor, proxy_server_options(options), nullptr) {}

bool BrokerState::is_forbidden(const Address& address, std::uint16_t port) const {
  return std::ranges::any_of(options.forbidden, [&](const ForbiddenPlace& place) {
    if (place.port != port) return false;
    if (place.address == address) return true;
    // Connecting to the unspecified address is connecting to the loopback.
    if (is_unspecified(address) && is_loopback(place.address)) return true;
    return is_unspecified(place.address) && is_of_this_host(address);
  });
}

Decision decide_again(const Policy& policy, const Use& use) {
  Decision decision = decide_destination(policy, use.destination, use.carriage);
  if (decision.allowed && use.address) {
    Decision address = decide_address(policy, use.destination, *use.address, use.carriage);
    if (!address.allowed) return address;
  }
  if (decision.allowed && use.request) {
    Decision request = decide_request(policy, use.destination, use.address.value_or(Address()), use.request->method,
                                      use.request->path);
    if (!request.allowed) return request;
    decision = std::move(request);
  }
  const bool has_secret = find_secret_rule(policy, use.destination) != nullptr;
  if (decision.allowed && use.with_secret != has_secret) {
    return Decision::no("the secret of its requests has changed");
  }
  return decision;
}

Live::Live(SandboxState& s) : sandbox(s), ended_(s.broker->executor, Deadline::Clock::time_point::max()) {
  place_ = sandbox.live.insert(sandbox.live.end(), this);
  sandbox.books->connection_opened();
}

Live::~Live() {
  sandbox.live.erase(place_);
  sandbox.books->connection_closed();
  sandbox.one_ended.notify();
}

void Live::end(std::string why) {
  if (why_ended_.empty()) why_ended_ = std::move(why);
  ended_.cancel();
}

Task<> Live::wait_for_end() {
  boost::system::error_code ignored;
  if (why_ended_.empty()) co_await ended_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

OrRefusal<> Live::admit() {
  if (admitted_ || !sandbox.meter) return {};
  auto admission = sandbox.meter->admit_connection();
  if (!admission) return std::unexpected(Refusal::over_quota(std::move(admission).error().message));
  admission_ = std::move(*admission);
  admitted_ = true;
  return {};
}

SandboxState::SandboxState(std::shared_ptr<BrokerState> b, SandboxEgressOptions options)
    : broker(std::move(b)),
      tenant(std::move(options.tenant)),
      where(std::move(options.where)),
      policy(std::make_shared<const Policy>(std::move(options.policy))),
      meter(std::move(options.meter)),
      books(std::move(options.books)),
      one_ended(broker->executor),
      tasks(broker->executor) {
  if (!books) {
    books =
        std::make_shared<Books>(broker->executor, broker->options.kept_events, broker->totals, broker->options.watcher);
  }
  books->reopen();
}

EgressEvent SandboxState::event_for(Protocol protocol) {
  EgressEvent event;
  event.id = books->next_id();
  event.tenant = tenant;
  event.where = where;
  event.protocol = protocol;
  return event;
}

EgressEvent SandboxState::event_for(Protocol protocol, const Destination& destination) {
  EgressEvent event = event_for(protocol);
  event.host = destination.name.empty() ? destination.address->text() : destination.name;
  event.address = destination.address;
  event.port = destination.port;
  return event;
}

Task<> accounted(Live& live, Account& account, std::function<Task<>()> work) {
  std::exception_ptr thrown;
  try {
    co_await work();
  } catch (...) {
    thrown = std::current_exception();
  }
  if (!thrown) co_return;
  if (!is_cancellation(thrown)) {
    account.close(Outcome::failed, "internal error; see the server log");
  } else if (!live.why_ended().empty()) {
    account.close(Outcome::ended, live.why_ended());
  } else {
    account.close(Outcome::closed, "the program closed the connection");
  }
  std::rethrow_exception(thrown);
}

}  // namespace cloche::egress
