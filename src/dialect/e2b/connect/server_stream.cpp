#include "dialect/e2b/connect/server_stream.hpp"

#include "core/async/first_of.hpp"
#include "dialect/e2b/connect/request_fields.hpp"
#include "http/server/request/json_body.hpp"
#include "json/write_json.hpp"

namespace cloche::dialect::e2b::connect {

namespace {

constexpr std::size_t message_depth = 32;

// Messages of a request, as they come.
class Incoming {
 public:
  explicit Incoming(http::Exchange& exchange)
      : exchange_(exchange), reader_(cloche::connect::Sender::client, longest_message.count) {}

  // nullopt at the end.
  Task<Reply<std::optional<json::value>>> next() {
    for (;;) {
      auto message = reader_.next();
      if (!message) co_return std::unexpected(failure_of_envelope(std::move(message).error()));
      if (*message) {
        CLOCHE_CO_TRY(json::value parsed, http::parse_json((*message)->message, message_depth));
        co_return std::optional<json::value>(std::move(parsed));
      }
      auto piece = co_await exchange_.read_some();
      if (!piece) co_return std::unexpected(failure_of_body(exchange_, std::move(piece).error()));
      if (piece->empty()) {
        if (reader_.is_between_messages()) co_return std::optional<json::value>();
        co_return failure(Code::invalid_argument, "protocol error: incomplete envelope");
      }
      reader_.feed(*piece);
    }
  }

 private:
  static Failure failure_of_envelope(Error error) {
    if (error.code == ErrorCode::protocol) return {Code::invalid_argument, std::move(error.message)};
    return {std::move(error)};
  }

  http::Exchange& exchange_;
  EnvelopeReader reader_;
};

std::string end_message(const Reply<>& reply) {
  if (reply) return "{}";
  return R"({"error":)" + to_json(reply.error()) + "}";
}

// The body's type, the protocol's version; the memory for one message.
Task<bool> accept_stream(http::Exchange& exchange) {
  if (has_type(exchange.fields(), stream_type)) co_return true;
  co_await answer_wrong_type(exchange, stream_type);
  co_return false;
}

Reply<> prepare(http::Exchange& exchange, Bytes most) {
  CLOCHE_CHECK(check_protocol(exchange.fields()));
  if (auto held = exchange.hold_body(most); !held)
    return std::unexpected(failure_of_body(exchange, std::move(held).error()));
  return {};
}

Task<Reply<>> handle_one(http::Exchange& exchange, StreamHandler& handler, ServerStream& stream) {
  CLOCHE_CO_CHECK(prepare(exchange, Bytes{longest_message.count + envelope_head}));
  std::optional<json::value> first;
  {
    Incoming incoming(exchange);
    CLOCHE_CO_TRY(first, co_await incoming.next());
    if (!first) co_return failure(Code::invalid_argument, "protocol error: missing message");
    CLOCHE_CO_TRY(const auto second, co_await incoming.next());
    if (second) co_return failure(Code::invalid_argument, "protocol error: more than one message");
  }
  exchange.release_of_body()();
  CLOCHE_CO_TRY(const ProtoObject message, ProtoObject::of(*first));
  auto reply = co_await handler(message, stream);
  co_return reply;
}

Task<Reply<>> handle_each(http::Exchange& exchange, MessageHandler& handler) {
  CLOCHE_CO_CHECK(prepare(exchange, Bytes{UINT64_MAX}));
  Incoming incoming(exchange);
  for (;;) {
    CLOCHE_CO_TRY(const auto next, co_await incoming.next());
    if (!next) co_return Reply<>{};
    CLOCHE_CO_TRY(const ProtoObject message, ProtoObject::of(*next));
    CLOCHE_CO_CHECK(co_await handler(message));
    exchange.release_of_body()();
  }
}

}  // namespace

Task<Status> ServerStream::begin() {
  if (is_begun_) co_return Status{};
  is_begun_ = true;
  http::Fields fields;
  fields.emplace_back("Content-Type", stream_type);
  co_return co_await exchange_.begin(200, std::move(fields));
}

Task<Status> ServerStream::send(const json::value& message) {
  CLOCHE_CO_CHECK(co_await begin());
  const std::string envelope = in_envelope(0, write_json(message));
  co_return co_await exchange_.write(envelope);
}

Task<Status> ServerStream::end(const Reply<>& reply) {
  if (!reply) log_failure(exchange_, reply.error());
  CLOCHE_CO_CHECK(co_await begin());
  const std::string envelope = in_envelope(envelope_flags::end_of_stream, end_message(reply));
  CLOCHE_CO_CHECK(co_await exchange_.write(envelope));
  co_return co_await exchange_.end();
}

Task<> serve_stream(http::Exchange& exchange, StreamHandler handler) {
  const bool accepted = co_await accept_stream(exchange);
  if (!accepted) co_return;
  ServerStream stream(exchange);
  auto ended = co_await first_of(handle_one(exchange, handler, stream), exchange.wait_until_server_stops());
  const auto* reply = std::get_if<0>(&ended);
  if (reply == nullptr || stream.is_cut_) {
    exchange.break_off();
    co_return;
  }
  [[maybe_unused]] auto sent = co_await stream.end(*reply);
}

Task<> serve_client_stream(http::Exchange& exchange, MessageHandler handler) {
  const bool accepted = co_await accept_stream(exchange);
  if (!accepted) co_return;
  ServerStream stream(exchange);
  auto ended = co_await first_of(handle_each(exchange, handler), exchange.wait_until_server_stops());
  const auto* reply = std::get_if<0>(&ended);
  if (reply == nullptr) {
    exchange.break_off();
    co_return;
  }
  if (*reply) {
    const json::value nothing = json::object();
    auto sent = co_await stream.send(nothing);
    if (!sent) co_return;
  }
  [[maybe_unused]] auto sent = co_await stream.end(*reply);
}

}  // namespace cloche::dialect::e2b::connect
