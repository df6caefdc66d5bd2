#include "http/client.hpp"

#include <list>

#include "http/connection.hpp"

namespace cloche::http {

namespace {

// The longest that a connection may take to come about.
constexpr auto connect_timeout = std::chrono::seconds(15);
constexpr std::size_t most_idle = 8;
// Servers and whatever lies between close idle connections after a while; do not run into that.
constexpr auto idle_lifetime = std::chrono::seconds(30);

// A GET that a dying connection swallowed can be asked again; anything else may have been done.
bool can_be_repeated(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

}  // namespace

struct Client::Impl {
  struct Idle {
    std::unique_ptr<Connection> connection;
    Deadline until;
  };

  Impl(Executor e, Endpoint where) : executor(std::move(e)), endpoint(std::move(where)) {}

  Executor executor;
  Endpoint endpoint;
  std::list<Idle> idle;

  std::unique_ptr<Connection> take_idle() {
    while (!idle.empty()) {
      Idle candidate = std::move(idle.back());
      idle.pop_back();
      if (!candidate.until.passed() && candidate.connection->can_be_reused()) return std::move(candidate.connection);
    }
    return nullptr;
  }

  void keep(std::unique_ptr<Connection> connection) {
    if (!connection->can_be_reused()) return;
    idle.push_back(Idle{std::move(connection), Deadline::after(idle_lifetime)});
    if (idle.size() > most_idle) idle.pop_front();
  }

  Task<Result<std::unique_ptr<Connection>>> connect(Deadline deadline) {
    auto stream = co_await open_stream(executor, endpoint, deadline.sooner(Deadline::after(connect_timeout)));
    if (!stream) co_return fail(std::move(stream).error().at(describe(endpoint)));
    co_return std::make_unique<Connection>(std::move(*stream));
  }

  struct Exchange {
    std::unique_ptr<Connection> connection;
    std::unique_ptr<ResponseReader> reader;
  };

  // Sends the request and reads the response's head, on a kept connection or a new one.
  Task<Result<Exchange>> begin(const Request& request, std::string_view connection_field, Deadline deadline) {
    CLOCHE_CO_TRY(const std::string head, serialise_head(request, host_header(endpoint), connection_field));
    for (auto connection = take_idle();;) {
      const bool is_new = !connection;
      if (is_new) {
        CLOCHE_CO_TRY(connection, co_await connect(deadline));
      }
      auto written = co_await connection->write(request, head, deadline);
      Result<std::unique_ptr<ResponseReader>> reader;
      if (written) {
        reader = co_await connection->read_head(request, deadline);
      } else {
        reader = fail(std::move(written).error());
      }
      if (reader) {
        Exchange exchange;
        exchange.connection = std::move(connection);
        exchange.reader = std::move(*reader);
        co_return exchange;
      }
      const bool swallowed = !is_new && !connection->has_answered() && reader.error().code == ErrorCode::unavailable;
      if (!swallowed || !can_be_repeated(request)) co_return fail(std::move(reader).error().at(describe(endpoint)));
      connection = nullptr;
    }
  }

  // Reads the body, to the sink or into the response, and keeps the connection if it can be used again.
  Task<Result<Response>> finish(Exchange exchange, const Request& request, const BodySink& sink, Deadline deadline) {
    Response response = exchange.reader->head();
    std::string collected;
    const BodySink collect = [&collected](std::string_view piece) -> Task<Status> {
      collected += piece;
      co_return Status{};
    };
    const BodySink& into = sink && response.success() ? sink : collect;
    CLOCHE_CO_CHECK(co_await exchange.connection->read_body(*exchange.reader, request, into, deadline));
    if (exchange.reader->keeps_alive()) keep(std::move(exchange.connection));
    response.body = std::move(collected);
    co_return response;
  }
};

// Returns its connection to the client when the body has been read.
class Client::Body final : public ResponseStream {
 public:
  Body(std::shared_ptr<Impl> impl, Request request, Impl::Exchange exchange)
      : impl_(std::move(impl)), request_(std::move(request)), exchange_(std::move(exchange)) {}

  const Response& head() const override { return exchange_.reader->head(); }
  Task<Result<std::string>> next(Deadline deadline) override {
    if (!exchange_.connection) co_return std::string();
    auto piece = co_await exchange_.connection->read_piece(*exchange_.reader, request_, deadline);
    if (!piece) co_return fail(std::move(piece).error().at(describe(impl_->endpoint)));
    if (piece->empty() && exchange_.reader->keeps_alive()) impl_->keep(std::move(exchange_.connection));
    co_return piece;
  }
  void close() override {
    if (exchange_.connection) exchange_.connection->close();
  }

 private:
  std::shared_ptr<Impl> impl_;
  Request request_;
  Impl::Exchange exchange_;
};

Client::Client(Executor executor, Endpoint endpoint)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(endpoint))) {}

Client::~Client() = default;

const Endpoint& Client::endpoint() const { return impl_->endpoint; }

Task<Result<Response>> Client::send(Request request, Deadline deadline) {
  return stream(std::move(request), nullptr, deadline);
}

Task<Result<Response>> Client::stream(Request request, BodySink sink, Deadline deadline) {
  const auto impl = impl_;
  CLOCHE_CO_TRY(Impl::Exchange exchange, co_await impl->begin(request, "keep-alive", deadline));
  co_return co_await impl->finish(std::move(exchange), request, sink, deadline);
}

Task<Result<std::unique_ptr<ResponseStream>>> Client::open(Request request, Deadline deadline) {
  const auto impl = impl_;
  CLOCHE_CO_TRY(Impl::Exchange exchange, co_await impl->begin(request, "keep-alive", deadline));
  co_return std::make_unique<Body>(impl, std::move(request), std::move(exchange));
}

Task<Result<Upgrade>> Client::upgrade(Request request, std::string protocol, Deadline deadline) {
  const auto impl = impl_;
  request.fields.emplace_back("Upgrade", std::move(protocol));
  CLOCHE_CO_TRY(Impl::Exchange exchange, co_await impl->begin(request, "Upgrade", deadline));
  Upgrade upgrade;
  const Response& head = exchange.reader->head();
  const bool without_length = head.field("Content-Length").empty() && head.field("Transfer-Encoding").empty();
  if (head.status == 101 || (head.status == 200 && without_length)) {
    upgrade.response = head;
    upgrade.stream = exchange.connection->take_stream();
    upgrade.read_ahead = exchange.connection->take_unread();
    co_return upgrade;
  }
  const BodySink none;
  CLOCHE_CO_TRY(upgrade.response, co_await impl->finish(std::move(exchange), request, none, deadline));
  co_return upgrade;
}

}  // namespace cloche::http
