#include "egress/broker/http_front.hpp"

#include <charconv>

#include "core/file_error.hpp"
#include "egress/broker/forwarded_head.hpp"
#include "egress/broker/route.hpp"
#include "egress/broker/tunnel.hpp"

namespace cloche::egress {

namespace {

constexpr std::uint16_t usual_http_port = 80;
constexpr Bytes unlimited{std::uint64_t{1} << 62};

bool same_place(const Destination& a, const Destination& b) {
  return a.name == b.name && a.address == b.address && a.port == b.port;
}

bool can_be_repeated(const http::Exchange& exchange) {
  return !exchange.has_body() && (exchange.method() == "GET" || exchange.method() == "HEAD");
}

class RequestFront {
 public:
  RequestFront(Live& live, std::optional<Destination> server) : live_(live), server_(std::move(server)) {}

  Task<> handle(http::Exchange& exchange) {
    if (exchange.method() == "CONNECT") {
      co_await connect(exchange);
      co_return;
    }
    auto destination = destination_of(exchange);
    if (!destination) {
      Refusal refusal = std::move(destination).error();
      Account account(live_.sandbox.books, live_.sandbox.event_for(Protocol::http));
      account.refuse(refusal);
      co_await answer(exchange, std::move(refusal));
      co_return;
    }
    EgressEvent event = live_.sandbox.event_for(Protocol::http, *destination);
    event.method = exchange.method();
    event.path = exchange.target().path;
    Account account(live_.sandbox.books, std::move(event));
    struct Using {
      explicit Using(Live& l) : live(l) {}
      ~Using() { live.use.reset(); }
      Live& live;
    } const use_ends_with_it(live_);
    std::function<Task<>()> work = [&] { return forward(exchange, *destination, account); };
    co_await accounted(live_, account, std::move(work));
  }

 private:
  // A connection to a server that was used for a request, and can be used for another.
  struct Kept {
    Destination destination;
    std::optional<Address> address;
    std::shared_ptr<Traffic> traffic;
    std::shared_ptr<http::Stream> stream;
  };

  OrRefusal<Destination> destination_of(const http::Exchange& exchange) const {
    const std::string_view host = exchange.field("Host");
    const std::string& authority = exchange.authority();
    if (authority.empty() && !server_) {
      return std::unexpected(
          Refusal::invalid("this is a proxy, which takes CONNECT and requests for http:// URLs; use it through "
                           "HTTP_PROXY and HTTPS_PROXY"));
    }
    Destination destination = server_.value_or(Destination());
    if (!authority.empty()) {
      auto named = parse_authority(authority, usual_http_port);
      if (!named) return std::unexpected(Refusal::invalid(std::move(named).error().message));
      if (server_ && !same_place(*named, *server_)) return other_host(exchange.authority());
      destination = std::move(*named);
    }
    if (host.empty()) return destination;
    auto named = parse_authority(host, usual_http_port);
    if (!named) return std::unexpected(Refusal::invalid("Host header: " + std::move(named).error().message));
    if (!same_place(*named, destination)) return other_host(host);
    return destination;
  }

  static std::unexpected<Refusal> other_host(std::string_view host) {
    return std::unexpected(
        Refusal::invalid("the request names another host, " + std::string(host) + ", than the one that it is sent to"));
  }

  Task<> connect(http::Exchange& exchange) {
    if (server_) {
      Refusal refusal = Refusal::invalid("CONNECT is for proxies only");
      co_await answer(exchange, std::move(refusal));
      co_return;
    }
    auto destination = parse_authority(exchange.authority(), 0);
    if (!destination || exchange.has_body()) {
      Refusal refusal =
          Refusal::invalid(destination ? "CONNECT must not have a body" : std::move(destination).error().message);
      Account account(live_.sandbox.books, live_.sandbox.event_for(Protocol::http_connect));
      account.refuse(refusal);
      co_await answer(exchange, std::move(refusal));
      co_return;
    }
    TunnelFront front;
    front.accept = [&exchange] { return exchange.accept_tunnel(); };
    front.refuse = [&exchange](Refusal refusal) { return answer(exchange, std::move(refusal)); };
    co_await carry_tunnel(live_, Protocol::http_connect, std::move(*destination), std::move(front));
  }

  Task<> forward(http::Exchange& exchange, const Destination& destination, Account& account) {
    auto sent = co_await send_request(exchange, destination, account);
    if (sent) {
      account.close(Outcome::closed, {});
      co_return;
    }
    Refusal refusal = std::move(sent).error();
    if (exchange.client_is_gone()) {
      account.close(Outcome::closed, "the program closed the connection");
      co_return;
    }
    account.refuse(refusal);
    if (exchange.is_answered()) {
      exchange.break_off();
    } else if (!exchange.body_failed()) {
      co_await answer(exchange, std::move(refusal));
    }
  }

  Task<OrRefusal<>> send_request(http::Exchange& exchange, const Destination& destination, Account& account) {
    if (find_secret_rule(*live_.sandbox.policy, destination) != nullptr) {
      co_return std::unexpected(Refusal::denied(Decision::no("requests to " + host_and_port(destination) +
                                                             " get a secret, so they must be sent with TLS (https)")));
    }
    for (bool admitted = false;;) {
      live_.use = Use{.destination = destination,
                      .address = destination.address,
                      .request = RequestLine{exchange.method(), exchange.target().path},
                      .carriage = Carriage::requests,
                      .with_secret = false};
      const bool was_kept = can_use_kept(exchange);
      OrRefusal<std::string> rule;
      if (was_kept) {
        rule = decide_for_kept();
      } else {
        rule = co_await connect_server(admitted);
      }
      if (!rule) co_return std::unexpected(std::move(rule).error());
      if (was_kept && !admitted) {
        if (auto within = admit_request(); !within) co_return std::unexpected(std::move(within).error());
      }
      admitted = true;
      account.event().address = kept_->address;
      account.count(kept_->traffic);
      if (!account.is_allowed()) account.allow(std::move(*rule));
      auto passed = co_await pass_on(exchange, account);
      if (passed) co_return OrRefusal<>();
      // A server may close a connection at the very moment at which it is used again.
      const bool closed_by_server = was_kept && !exchange.is_answered() &&
                                    passed.error().code == ErrorCode::unavailable && !exchange.client_is_gone();
      if (!closed_by_server) {
        co_return std::unexpected(Refusal::failed(std::move(passed).error().at(host_and_port(destination))));
      }
    }
  }

  bool can_use_kept(const http::Exchange& exchange) {
    if (kept_ && same_place(kept_->destination, live_.use->destination) && can_be_repeated(exchange) &&
        kept_->stream->is_quiet()) {
      return true;
    }
    kept_.reset();
    return false;
  }

  OrRefusal<std::string> decide_for_kept() {
    live_.use->address = kept_->address;
    Decision decision = decide_again(*live_.sandbox.policy, *live_.use);
    if (!decision.allowed) return std::unexpected(Refusal::denied(std::move(decision)));
    return std::move(decision.rule);
  }

  Task<OrRefusal<std::string>> connect_server(bool admitted) {
    auto route = co_await find_route(live_);
    if (!route) co_return std::unexpected(std::move(route).error());
    if (!admitted) {
      if (auto within = admit_request(); !within) co_return std::unexpected(std::move(within).error());
    }
    auto traffic = std::make_shared<Traffic>();
    auto stream = co_await connect_route(live_, *route, traffic);
    if (!stream) co_return std::unexpected(std::move(stream).error());
    kept_ = Kept{.destination = route->destination,
                 .address = live_.use->address,
                 .traffic = std::move(traffic),
                 .stream = std::move(*stream)};
    co_return std::move(route->rule);
  }

  OrRefusal<> admit_request() {
    if (!live_.sandbox.meter) return {};
    auto admitted = live_.sandbox.meter->admit_request();
    if (!admitted) return std::unexpected(Refusal::over_quota(std::move(admitted).error().message));
    return {};
  }

  // The connection is kept for another request if it can be used for one.
  Task<Status> pass_on(http::Exchange& exchange, Account& account) {
    const Kept server = *std::exchange(kept_, std::nullopt);
    http::ForwardRules rules;
    rules.timeout = live_.sandbox.broker->options.idle;
    rules.idle = rules.timeout;
    rules.request = unlimited;
    rules.response = unlimited;
    http::ForwardHooks hooks;
    hooks.fields = &forwarded_fields;
    hooks.upgrade_fields = &forwarded_upgrade_fields;
    http::ForwardedRequest request = forwarded_request(exchange, server.destination);
    http::Forwarding forwarding(exchange, *server.stream, std::move(request), rules, std::move(hooks));
    auto served = co_await forwarding.serve();
    account.event().status = forwarding.status();
    if (served && forwarding.server_can_be_reused()) kept_ = server;
    if (served) co_return served;
    Error error = std::move(served).error();
    // Too long a head, for instance; not a quota.
    if (error.code == ErrorCode::limit_reached && !server.traffic->over_quota) error.code = ErrorCode::protocol;
    if (error.code == ErrorCode::unavailable && forwarding.server_responded()) error.code = ErrorCode::protocol;
    co_return fail(std::move(error));
  }

  static Task<> answer(http::Exchange& exchange, Refusal refusal) {
    co_await exchange.refuse(refusal.status, refusal.text());
  }

  Live& live_;
  std::optional<Destination> server_;
  std::optional<Kept> kept_;
};

}  // namespace

Result<Destination> parse_authority(std::string_view authority, std::uint16_t usual_port) {
  const auto invalid = [&] {
    return fail(ErrorCode::invalid_argument, "invalid host and port `" + shown(authority) + "`");
  };
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return invalid();
  const std::size_t colon = authority.find(':', bracket);
  std::uint16_t port = usual_port;
  if (colon != std::string_view::npos) {
    const std::string_view digits = authority.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size()) return invalid();
  }
  if (port == 0) return invalid();
  return parse_destination(authority.substr(0, colon), port);
}

Task<> serve_requests(Live& live, std::unique_ptr<http::Stream> program, std::optional<Destination> server) {
  RequestFront front(live, std::move(server));
  http::Peer peer;
  peer.address = live.sandbox.where;
  http::Handler handler = [&front](http::Exchange& exchange) { return front.handle(exchange); };
  co_await live.sandbox.broker->server.serve(std::move(program), std::move(peer), std::move(handler));
}

}  // namespace cloche::egress
