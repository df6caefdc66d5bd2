#include "http/server/server_connection.hpp"

#include "core/async/first_of.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"

namespace cloche::http {

namespace {

std::string describe(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an unknown exception";
  }
}

// A cancelled task may look at its state, and await nothing else.
bool is_cancelled(const asio::cancellation_state& state) { return state.cancelled() != asio::cancellation_type::none; }

}  // namespace

// Counts and logs one request when it is over, whatever way it ended.
class ServerConnection::Record {
 public:
  explicit Record(ServerConnection& connection)
      : connection_(connection),
        bytes_in_(connection.client_stream_->inflow().consumed()),
        bytes_out_(connection.client_stream_->bytes_out()) {
    ++connection_.state_->counts.requests_in_flight;
  }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  ~Record() {
    ServerCounts& counts = connection_.state_->counts;
    --counts.requests_in_flight;
    const std::uint64_t in = connection_.client_stream_->inflow().consumed() - bytes_in_;
    const std::uint64_t out = connection_.client_stream_->bytes_out() - bytes_out_;
    counts.bytes_in += in;
    counts.bytes_out += out;
    if (exchange_ && !exchange_->answer.begun()) {
      const bool gone = connection_.client_stream_->inflow().ended();
      if (gone) ++counts.clients_gone;
      status_ = gone ? 499 : 503;
    } else {
      if (exchange_) status_ = exchange_->answer.status();
      ++counts.by_class[std::min<std::size_t>(status_ / 100, counts.by_class.size() - 1)];
    }
    tell(in, out);
  }

  void is_about(const ExchangeParts& exchange) { exchange_ = &exchange; }
  void is_turned_down(unsigned status, std::string_view request_id) {
    status_ = status;
    request_id_ = request_id;
  }

 private:
  void tell(std::uint64_t in, std::uint64_t out) const noexcept {
    const auto& access_log = connection_.state_->options.access_log;
    if (!access_log) return;
    const auto duration = Deadline::Clock::now() - started_;
    AccessRecord record{"", "", status_, in, out, duration, request_id_, connection_.peer_, {}};
    try {
      if (exchange_) {
        record.method = exchange_->head.method;
        record.path = exchange_->head.target.path;
        record.request_id = exchange_->request_id;
        record.labels = exchange_->labels;
      }
      access_log(record);
    } catch (const std::exception& e) {
      log::error("access log: {}", e.what());
    }
  }

  ServerConnection& connection_;
  const ExchangeParts* exchange_ = nullptr;
  std::string_view request_id_;
  unsigned status_ = 0;
  std::uint64_t bytes_in_;
  std::uint64_t bytes_out_;
  Deadline::Clock::time_point started_ = Deadline::Clock::now();
};

ServerConnection::ServerConnection(std::shared_ptr<ServerState> state, std::unique_ptr<Stream> stream, Peer peer,
                                   Handler handler)
    : state_(std::move(state)),
      peer_(std::move(peer)),
      handler_(std::move(handler)),
      client_stream_(std::make_shared<ClientStream>(std::move(stream), state_->executor, state_->options.limits)),
      watched_changed_(state_->executor, Deadline::Clock::time_point::max()) {
  state_->connections.insert(this);
  ++state_->connections_of[peer_.address];
}

ServerConnection::~ServerConnection() {
  state_->connections.erase(this);
  const auto of_peer = state_->connections_of.find(peer_.address);
  if (--of_peer->second == 0) state_->connections_of.erase(of_peer);
}

bool ServerConnection::make_room(ServerState& state) {
  ServerConnection* chosen = nullptr;
  std::size_t most = 0;
  for (ServerConnection* each : state.connections) {
    if (!each->waits_since_ || each->gives_way_) continue;
    const std::size_t count = state.connections_of.find(each->peer_.address)->second;
    if (chosen && (count < most || (count == most && *each->waits_since_ >= *chosen->waits_since_))) continue;
    chosen = each;
    most = count;
  }
  if (chosen == nullptr) return false;
  chosen->gives_way_ = true;
  chosen->wake();
  return true;
}

Task<> ServerConnection::run() { co_await first_of(serve(), watch()); }

Task<> ServerConnection::serve() {
  std::exception_ptr thrown;
  try {
    co_await serve_requests();
  } catch (...) {
    thrown = std::current_exception();
  }
  client_stream_->close();
  if (!thrown) co_return;
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  if (!is_cancelled(cancellation)) log::error("connection of {}: {}", peer_.describe(), describe(thrown));
}

Task<> ServerConnection::watch() {
  co_await client_stream_->inflow().pump();
  for (;;) {
    const bool is_abandoned =
        watched_ && !watched_->outlives_client && !watched_->answer.complete() && !watched_->answer.switched();
    if (is_abandoned) co_return;
    // Without an exception when the connection is over, which is the usual end.
    boost::system::error_code ignored;
    co_await watched_changed_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    if (is_cancelled(cancellation)) co_return;
  }
}

Task<> ServerConnection::serve_requests() {
  for (Position position = Position::first;; position = Position::later) {
    auto head = co_await read_head(position);
    if (!head) {
      RequestError refusal = std::move(head).error();
      co_await turn_down(std::move(refusal));
      break;
    }
    if (!*head) co_return;
    const bool goes_on = co_await serve_one(std::move(**head));
    if (!goes_on) break;
  }
  co_await linger();
}

Task<> ServerConnection::linger() {
  Inflow& inflow = client_stream_->inflow();
  const Deadline deadline = Deadline::after(state_->options.limits.linger);
  struct Lingering {
    explicit Lingering(ServerState& s) : state(s) { ++state.lingering; }
    ~Lingering() { --state.lingering; }
    ServerState& state;
  } const lingering(*state_);
  // A tunnel has come to its own end.
  if (!client_stream_->broken() && !inflow.is_handed_over()) {
    co_await client_stream_->end_writing(deadline);
    while (!inflow.ended() && !deadline.passed()) {
      const bool floods = inflow.bytes().size() >= ClientStream::kept_of_heads(state_->options.limits);
      inflow.consume(inflow.bytes().size());
      // Many who send on and on share the time that it takes to read what is dropped.
      if (floods) {
        co_await pause_for(std::chrono::milliseconds(1) * state_->lingering);
      } else {
        co_await inflow.wait(deadline);
      }
    }
  }
  client_stream_->close();
}

Task<OrRequestError<std::optional<RequestHead>>> ServerConnection::read_head(Position position) {
  const ServerLimits& limits = state_->options.limits;
  Inflow& inflow = client_stream_->inflow();
  HeadFinder finder(limits.head);
  inflow.keep(ClientStream::kept_of_heads(limits));
  inflow.shrink();
  struct Waits {
    explicit Waits(ServerConnection& c) : connection(c) { connection.waits_since_ = Deadline::Clock::now(); }
    ~Waits() { connection.waits_since_.reset(); }
    ServerConnection& connection;
  } const waits(*this);
  // A client that has just connected is about to send a request.
  Deadline deadline = Deadline::after(position == Position::first ? limits.head_time : limits.idle);
  for (bool begun = false;;) {
    if (!inflow.bytes().empty()) {
      if (!begun) deadline = Deadline::after(limits.head_time);
      begun = true;
      auto end = finder.find(inflow.bytes());
      if (!end) co_return std::unexpected(std::move(end).error());
      if (*end) {
        auto head = parse_head(inflow.bytes().substr(0, **end), state_->options.role);
        inflow.consume(**end);
        if (!head) co_return std::unexpected(std::move(head).error());
        co_return std::move(*head);
      }
    }
    const bool idle_at_the_end = !begun && (state_->stopping || deadline.passed());
    if (inflow.ended() || idle_at_the_end || gives_way_) co_return std::nullopt;
    if (deadline.passed()) co_return http::refuse(408, "the request arrives too slowly");
    co_await inflow.wait(deadline);
  }
}

Task<bool> ServerConnection::serve_one(RequestHead head) {
  const bool is_last = ++served_ >= state_->options.limits.requests_per_connection;
  Exchange exchange(std::make_unique<ExchangeParts>(*state_, client_stream_, std::move(head), peer_, is_last));
  ExchangeParts& parts = ExchangeAccess::parts(exchange);
  Record record(*this);
  record.is_about(parts);
  struct CurrentExchange {
    explicit CurrentExchange(ServerConnection& c, ExchangeParts& parts) : connection(c) {
      connection.watched_ = &parts;
      if (connection.client_stream_->inflow().ended()) connection.watched_changed_.cancel();
    }
    ~CurrentExchange() { connection.watched_ = nullptr; }
    ServerConnection& connection;
  } const current(*this, parts);

  std::exception_ptr thrown;
  try {
    co_await handler_(exchange);
  } catch (...) {
    thrown = std::current_exception();
  }
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  if (is_cancelled(cancellation)) co_return false;
  const std::string_view path = parts.head.target.path;
  if (thrown) {
    log::error("request {}: {} {}: the handler threw: {}", parts.request_id, parts.head.method, path, describe(thrown));
  }
  if (!parts.answer.begun()) co_await answer_for_handler(exchange);
  if (parts.answer.switched()) co_return false;
  if (!parts.answer.complete()) {
    // The client must not take what it has for all of it.
    if (!client_stream_->broken() && !thrown && !parts.broken_off) {
      log::error("request {}: {} {}: the handler did not finish its response", parts.request_id, parts.head.method,
                 path);
    }
    client_stream_->close();
    co_return false;
  }
  if (!parts.answer.keeps_connection()) co_return false;
  co_return co_await parts.body.drain();
}

Task<> ServerConnection::answer_for_handler(Exchange& exchange) {
  const auto& trouble_with_body = ExchangeAccess::parts(exchange).body.refusal();
  const RequestError refusal = trouble_with_body.value_or(RequestError{500, "internal error"});
  std::string why = refusal.why;
  co_await exchange.refuse(refusal.status, std::move(why));
}

Task<> ServerConnection::turn_down(RequestError refusal) {
  const std::string request_id = random_hex(8);
  Record record(*this);
  record.is_turned_down(refusal.status, request_id);
  const std::string bytes = state_->rejection_bytes(refusal, request_id);
  co_await client_stream_->write(bytes);
}

}  // namespace cloche::http
