#include "egress/broker/tunnel.hpp"

#include "egress/broker/first_bytes.hpp"
#include "egress/broker/http_front.hpp"
#include "egress/broker/prefixed_stream.hpp"
#include "egress/broker/relay.hpp"
#include "egress/broker/route.hpp"

namespace cloche::egress {

namespace {

constexpr std::uint16_t plain_http_port = 80;

// How a relay, or an interceptor, that was allowed came to its end.
void close_account(Account& account, const Status& ended) {
  if (ended) {
    account.close(Outcome::closed, {});
  } else if (ended.error().code == ErrorCode::limit_reached) {
    account.close(Outcome::over_quota, ended.error().message);
  } else if (ended.error().code == ErrorCode::timeout) {
    account.close(Outcome::ended, ended.error().message);
  } else {
    account.close(Outcome::closed, ended.error().message);
  }
}

class InterceptedTunnel final : public Intercepted {
 public:
  InterceptedTunnel(Live& live, const Route& route, std::shared_ptr<Traffic> traffic)
      : live_(live), route_(route), traffic_(std::move(traffic)) {}

  const Destination& destination() const override { return route_.destination; }
  std::shared_ptr<const Policy> policy() const override { return live_.sandbox.policy; }
  Task<OrRefusal<std::unique_ptr<http::Stream>>> connect() override {
    live_.use->request.reset();
    return connect_route(live_, route_, traffic_);
  }
  OrRefusal<std::unique_ptr<Account>> begin_request(std::string_view method, std::string_view path) override {
    SandboxState& sandbox = live_.sandbox;
    EgressEvent event = sandbox.event_for(Protocol::http, route_.destination);
    event.method = method;
    event.path = path;
    event.address = live_.use->address;
    auto account = std::make_unique<Account>(sandbox.books, std::move(event));
    account->count(traffic_);
    live_.use->request = RequestLine{std::string(method), std::string(path)};
    Decision decision = decide_again(*sandbox.policy, *live_.use);
    std::optional<Refusal> refusal;
    if (!decision.allowed) {
      refusal = Refusal::denied(std::move(decision));
    } else if (sandbox.meter) {
      auto admitted = sandbox.meter->admit_request();
      if (!admitted) refusal = Refusal::over_quota(std::move(admitted).error().message);
    }
    if (refusal) {
      account->refuse(*refusal);
      return std::unexpected(std::move(*refusal));
    }
    account->allow(std::move(decision.rule));
    return account;
  }
  Deadline::Clock::duration idle() const override { return live_.sandbox.broker->options.idle; }
  Deadline::Clock::duration head() const override { return live_.sandbox.broker->options.head; }

 private:
  Live& live_;
  const Route& route_;
  std::shared_ptr<Traffic> traffic_;
};

class Tunnel {
 public:
  Tunnel(Live& live, Account& account, Destination destination, TunnelFront& front)
      : live_(live), account_(account), destination_(std::move(destination)), front_(front) {}

  Task<> carry() {
    const bool with_secret = find_secret_rule(*live_.sandbox.policy, destination_) != nullptr;
    live_.use = Use{.destination = destination_,
                    .address = destination_.address,
                    .request = std::nullopt,
                    .carriage = with_secret ? Carriage::requests : Carriage::opaque,
                    .with_secret = with_secret};
    auto route = co_await find_route(live_);
    if (!route) {
      Refusal refusal = std::move(route).error();
      co_await refuse(std::move(refusal));
      co_return;
    }
    account_.event().address = route->addresses.empty() ? std::nullopt : std::optional(route->addresses.front());
    account_.count(traffic_);
    if (with_secret) {
      co_await intercept(*route);
    } else {
      co_await relay_bytes(*route);
    }
  }

  Task<> refuse(Refusal refusal) {
    account_.refuse(refusal);
    co_await front_.refuse(std::move(refusal));
  }

 private:
  Task<> relay_bytes(const Route& route) {
    auto connected = co_await connect_route(live_, route, traffic_);
    if (!connected) {
      Refusal refusal = std::move(connected).error();
      co_await refuse(std::move(refusal));
      co_return;
    }
    const std::unique_ptr<http::Stream> server = std::move(*connected);
    account_.event().address = live_.use->address;
    account_.allow(route.rule);
    auto accepted = co_await front_.accept();
    if (!accepted) {
      account_.close(Outcome::closed, accepted.error().message);
      co_return;
    }
    const std::unique_ptr<http::Stream> program = std::move(*accepted);
    std::optional<Refusal> refusal;
    RelayOptions options;
    options.idle = live_.sandbox.broker->options.idle;
    options.pipes = live_.sandbox.broker->pipes;
    options.first_bytes = [this, &program, &refusal]() -> Task<Result<std::string>> {
      auto first = co_await read_first_bytes(live_, *program, FirstBytes::any);
      if (first) co_return std::move(*first);
      refusal = std::move(first).error();
      co_return fail(ErrorCode::permission_denied, refusal->reason);
    };
    const auto ended = co_await relay(*program, *server, std::move(options));
    if (!ended) {
      program->close();
      server->close();
    }
    if (refusal) {
      account_.refuse(*refusal);
    } else {
      close_account(account_, ended);
    }
  }

  Task<> intercept(const Route& route) {
    const auto interceptor = live_.sandbox.broker->options.interceptor;
    if (!interceptor) {
      Refusal refusal = Refusal::denied(Decision::no("requests to " + host_and_port(destination_) +
                                                     " get a secret, and this service has no authority for it"));
      co_await refuse(std::move(refusal));
      co_return;
    }
    account_.allow(route.rule);
    auto accepted = co_await front_.accept();
    if (!accepted) {
      account_.close(Outcome::closed, accepted.error().message);
      co_return;
    }
    std::unique_ptr<http::Stream> program = std::move(*accepted);
    auto first = co_await read_first_bytes(live_, *program, FirstBytes::tls);
    if (!first) {
      program->close();
      account_.refuse(first.error());
      co_return;
    }
    InterceptedTunnel intercepted(live_, route, traffic_);
    auto stream = std::make_unique<PrefixedStream>(std::move(*first), std::move(program));
    const auto ended = co_await interceptor->serve(std::move(stream), intercepted);
    if (!ended && ended.error().code != ErrorCode::limit_reached && ended.error().code != ErrorCode::timeout) {
      account_.close(Outcome::failed, ended.error().message);
    } else {
      close_account(account_, ended);
    }
  }

  Live& live_;
  Account& account_;
  Destination destination_;
  TunnelFront& front_;
  std::shared_ptr<Traffic> traffic_ = std::make_shared<Traffic>();
};

// The requests are decided about one by one; this only refuses a destination that no request may go to.
Task<> carry_requests(Live& live, Protocol protocol, const Destination& destination, TunnelFront& front) {
  Decision decision = decide_destination(*live.sandbox.policy, destination, Carriage::requests);
  if (!decision.allowed) {
    Account account(live.sandbox.books, live.sandbox.event_for(protocol, destination));
    Refusal refusal = Refusal::denied(std::move(decision));
    account.refuse(refusal);
    co_await front.refuse(std::move(refusal));
    co_return;
  }
  auto accepted = co_await front.accept();
  if (accepted) co_await serve_requests(live, std::move(*accepted), destination);
}

}  // namespace

Task<> carry_tunnel(Live& live, Protocol protocol, Destination destination, TunnelFront front) {
  if (destination.port == plain_http_port) {
    co_await carry_requests(live, protocol, destination, front);
    co_return;
  }
  struct Using {
    explicit Using(Live& l) : live(l) {}
    ~Using() { live.use.reset(); }
    Live& live;
  } const use_ends_with_it(live);
  Account account(live.sandbox.books, live.sandbox.event_for(protocol, destination));
  Tunnel tunnel(live, account, destination, front);
  std::function<Task<>()> work = [&tunnel] { return tunnel.carry(); };
  co_await accounted(live, account, std::move(work));
}

}  // namespace cloche::egress
