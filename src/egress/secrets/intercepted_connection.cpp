#include "egress/secrets/intercepted_connection.hpp"

#include "core/async/exceptions.hpp"
#include "core/file_error.hpp"
#include "core/log.hpp"
#include "egress/broker/forwarded_head.hpp"
#include "egress/broker/http_front.hpp"

namespace cloche::egress {

namespace {

constexpr std::uint16_t https_port = 443;
constexpr Bytes any_size{std::uint64_t{1} << 62};

std::unexpected<Refusal> refused(unsigned status, std::string reason) {
  Refusal refusal = Refusal::invalid(std::move(reason));
  refusal.status = status;
  return std::unexpected(std::move(refusal));
}

std::unexpected<Refusal> failed_request(const Error& error) { return std::unexpected(Refusal::failed(error)); }

bool same_host(const Destination& a, const Destination& b) {
  return a.name == b.name && a.address == b.address && a.port == b.port;
}

std::string https_authority(const std::string& host, std::uint16_t port) {
  std::string authority = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == https_port ? authority : authority + ":" + std::to_string(port);
}

// The account's end when the request's task does not come to its own.
void close_thrown(Account& account, const std::exception_ptr& thrown) {
  if (is_cancellation(thrown)) {
    account.close(Outcome::ended, "the connection was ended");
  } else {
    account.close(Outcome::failed, "internal error; see the server log");
  }
}

Task<> answer_refusal(http::Exchange& exchange, const Refusal& refusal) {
  if (exchange.is_answered()) {
    exchange.break_off();
  } else if (!exchange.body_failed()) {
    co_await exchange.refuse(refusal.status, refusal.reason);
  }
}

}  // namespace

InterceptedConnection::InterceptedConnection(const Executor& executor, Intercepted& connection, SecretStore& secrets,
                                             ServerTls tls)
    : connection_(connection), secrets_(secrets), tls_(std::move(tls)), prepared_(executor) {
  const Destination& destination = connection.destination();
  host_ = destination.name.empty() ? destination.address->text() : destination.name;
}

Task<> InterceptedConnection::handle(http::Exchange& exchange) {
  if (auto connected = co_await connect(); !connected) {
    co_await answer_refusal(exchange, connected.error());
    co_return;
  }
  auto begun = connection_.begin_request(exchange.method(), exchange.target().path);
  if (!begun) {
    co_await answer_refusal(exchange, begun.error());
    co_return;
  }
  Account& account = **begun;
  OrRefusal<> carried;
  std::exception_ptr thrown;
  try {
    carried = co_await carry(exchange, account);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown) {
    close_thrown(account, thrown);
    std::rethrow_exception(thrown);
  }
  if (carried) {
    account.close(Outcome::closed, {});
    co_return;
  }
  server_.reset();
  account.refuse(carried.error());
  co_await answer_refusal(exchange, carried.error());
}

Task<OrRefusal<>> InterceptedConnection::carry(http::Exchange& exchange, Account& account) {
  if (auto checked = check_host(exchange); !checked) co_return std::unexpected(std::move(checked).error());
  // The response would be the request, with everything that was put on it.
  if (exchange.method() == "TRACE" || exchange.method() == "CONNECT") {
    co_return refused(405, exchange.method() + " is not allowed for hosts whose requests get a secret");
  }
  const std::shared_ptr<const Policy> policy = connection_.policy();
  auto secrets = co_await secrets_for(*policy);
  if (!secrets) co_return failed_request(secrets.error());
  const Rule* rule = find_secret_rule(*policy, connection_.destination(), exchange.method(), exchange.target().path);
  const Secret* secret = nullptr;
  std::vector<std::shared_ptr<const PatternFinder>> finders;
  for (const auto& each : *secrets) {
    finders.push_back(each->encodings);
    if (rule != nullptr && each->name == rule->secret->secret) secret = each.get();
  }
  auto request = make_request(exchange, rule, secret);
  if (!request) co_return std::unexpected(std::move(request).error());
  if (rule != nullptr) account.event().secret = rule->secret->secret;
  Redactor redactor(finders);
  co_return co_await forward(exchange, account, std::move(*request), redactor);
}

OrRefusal<> InterceptedConnection::check_host(const http::Exchange& exchange) const {
  for (const std::string_view named : {std::string_view(exchange.authority()), exchange.field("Host")}) {
    if (named.empty()) continue;
    const auto destination = parse_authority(named, https_port);
    if (!destination) return refused(400, destination.error().message);
    if (!same_host(*destination, connection_.destination())) {
      return refused(421, "the request names another host, " + shown(named) + ", than the connection");
    }
  }
  return {};
}

// The reason names the secret and what kind of error it was. More is in the log alone: paths of this host, for example.
Task<Result<std::vector<std::shared_ptr<const Secret>>>> InterceptedConnection::secrets_for(const Policy& policy) {
  std::vector<std::shared_ptr<const Secret>> secrets;
  for (const std::string& name : secrets_of_host(policy, connection_.destination())) {
    auto secret = co_await secrets_.get(name);
    if (!secret) {
      log::warn("egress to {}: {}", host_, secret.error().message);
      co_return fail(ErrorCode::unavailable, "the secret '" + shown(name) + "' cannot be read (" +
                                                 std::string(to_string(secret.error().code)) + "); see the server log");
    }
    secrets.push_back(std::move(*secret));
  }
  co_return secrets;
}

OrRefusal<http::ForwardedRequest> InterceptedConnection::make_request(const http::Exchange& exchange, const Rule* rule,
                                                                      const Secret* secret) const {
  RequestParts parts{.path = exchange.target().path,
                     .query = exchange.target().query,
                     .fields = searchable_request_fields(exchange.fields())};
  if (rule != nullptr) {
    const auto put = put_secret_on(parts, *rule->secret, secret->value);
    if (!put && put.error().code == ErrorCode::protocol) return refused(400, put.error().message);
    if (!put) return failed_request(put.error());
  }
  const ForwardedParts forwarded{https_authority(host_, connection_.destination().port), parts.target(),
                                 std::move(parts.fields)};
  return forwarded_request(exchange, forwarded);
}

Task<> InterceptedConnection::prepare() {
  struct Preparing {
    explicit Preparing(InterceptedConnection& c) : connection(c) { connection.preparing_ = true; }
    ~Preparing() {
      connection.preparing_ = false;
      connection.prepared_.notify();
    }
    InterceptedConnection& connection;
  };
  {
    const Preparing preparing(*this);
    if (auto connected = co_await connect_anew(); !connected) {
      no_connection_ = std::move(connected).error();
    } else if (auto secured = co_await secure(); !secured) {
      no_tls_ = std::move(secured).error();
    }
  }
  // Without an exception: it would cost more than a small request.
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer never(executor, Deadline::Clock::time_point::max());
  boost::system::error_code cancelled;
  co_await never.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
}

Task<OrRefusal<>> InterceptedConnection::connect() {
  while (preparing_) co_await prepared_.wait();
  if (no_connection_) co_return std::unexpected(*std::exchange(no_connection_, std::nullopt));
  if (no_tls_) co_return OrRefusal<>();  // secure() says so
  if (server_) {
    const bool is_quiet = co_await server_->is_quiet_once_read();
    if (is_quiet) co_return OrRefusal<>();
  }
  server_.reset();
  if (plain_ && plain_->is_quiet()) co_return OrRefusal<>();
  co_return co_await connect_anew();
}

Task<OrRefusal<>> InterceptedConnection::connect_anew() {
  plain_.reset();
  auto connected = co_await connection_.connect();
  if (!connected) co_return std::unexpected(std::move(connected).error());
  plain_ = std::move(*connected);
  co_return OrRefusal<>();
}

Task<OrRefusal<>> InterceptedConnection::secure() {
  if (no_tls_) co_return std::unexpected(*std::exchange(no_tls_, std::nullopt));
  Resumption from{&tls_.sessions, host_ + ":" + std::to_string(connection_.destination().port)};
  auto secured = co_await TlsStream::connect(std::move(plain_), tls_.client, host_, Deadline::after(connection_.head()),
                                             std::move(from));
  if (!secured) co_return failed_request(std::move(secured).error().at(host_));
  server_ = std::move(*secured);
  co_return OrRefusal<>();
}

Task<OrRefusal<>> InterceptedConnection::forward(http::Exchange& exchange, Account& account,
                                                 http::ForwardedRequest request, Redactor& redactor) {
  http::ForwardRules rules;
  rules.timeout = connection_.idle();
  rules.idle = connection_.idle();
  rules.request = any_size;
  rules.response = any_size;
  http::ForwardHooks hooks;
  hooks.fields = [&](const http::Response& head) -> Result<http::Fields> {
    CLOCHE_CHECK(check_searchable(head));
    CLOCHE_TRY(const http::Fields fields, forwarded_fields(head));
    return redacted_fields(fields, redactor);
  };
  hooks.upgrade_fields = [&](const http::Response& head) -> Result<http::Fields> {
    CLOCHE_TRY(const http::Fields fields, forwarded_upgrade_fields(head));
    return redacted_fields(fields, redactor);
  };
  hooks.change_body = [&](std::string_view piece, bool last) {
    std::string changed = redactor.feed(piece);
    if (last) changed += redactor.finish();
    return changed;
  };
  hooks.keeps_length = true;
  const bool can_be_repeated = !request.has_body && (exchange.method() == "GET" || exchange.method() == "HEAD");
  for (bool is_reused = server_ != nullptr;; is_reused = false) {
    if (!server_) {
      if (auto secured = co_await secure(); !secured) co_return std::unexpected(std::move(secured).error());
    }
    http::Forwarding forwarding(exchange, *server_, request, rules, hooks);
    auto served = co_await forwarding.serve();
    account.event().status = forwarding.status();
    if (!served || !forwarding.server_can_be_reused()) server_.reset();
    if (served) co_return OrRefusal<>();
    // The server may have closed the connection just before the request came.
    const bool again = is_reused && can_be_repeated && !forwarding.server_responded() && !exchange.is_answered();
    if (!again) co_return failed_request(std::move(served).error().at(host_));
    if (auto connected = co_await connect(); !connected) co_return std::unexpected(std::move(connected).error());
  }
}

}  // namespace cloche::egress
