#include "http/server/websocket.hpp"

#include <boost/asio.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

#include "http/server/exchange_parts.hpp"
#include "http/server/upgraded_stream.hpp"

namespace cloche::http {

namespace {

namespace beast = boost::beast;
namespace websocket = beast::websocket;
using boost::system::error_code;

// A client stream with the interface that Beast requires.
class ClientStreamLayer {
 public:
  using executor_type = Executor;

  ClientStreamLayer(std::shared_ptr<ClientStream> client_stream, Executor executor)
      : client_stream_(std::move(client_stream)), executor_(std::move(executor)) {}

  executor_type get_executor() const noexcept { return executor_; }
  ClientStream& client_stream() { return *client_stream_; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    std::vector<asio::mutable_buffer> room(asio::buffer_sequence_begin(buffers), asio::buffer_sequence_end(buffers));
    auto start = [client_stream = client_stream_, room = std::move(room)] { return read(client_stream, room); };
    return initiate(std::move(start), std::forward<Token>(token));
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    std::vector<asio::const_buffer> bytes(asio::buffer_sequence_begin(buffers), asio::buffer_sequence_end(buffers));
    auto start = [client_stream = client_stream_, bytes = std::move(bytes)] { return write(client_stream, bytes); };
    return initiate(std::move(start), std::forward<Token>(token));
  }

 private:
  struct Moved {
    error_code code;
    std::size_t count = 0;
  };

  // Runs the coroutine and hands what it returns to the token's handler.
  template <class Start, class Token>
  auto initiate(Start start, Token&& token) {
    auto initiation = [](auto handler, Executor executor, Start begin) {
      const auto slot = asio::get_associated_cancellation_slot(handler);
      auto done = [handler = std::move(handler)](const std::exception_ptr& thrown, Moved moved) mutable {
        if (thrown) moved.code = asio::error::operation_aborted;
        std::move(handler)(moved.code, moved.count);
      };
      asio::co_spawn(executor, std::move(begin), asio::bind_cancellation_slot(slot, std::move(done)));
    };
    return asio::async_initiate<Token, void(error_code, std::size_t)>(std::move(initiation), token, executor_,
                                                                      std::move(start));
  }

  static Task<Moved> read(std::shared_ptr<ClientStream> client_stream, std::vector<asio::mutable_buffer> room) {
    Moved moved;
    UpgradedStream stream(*client_stream);
    for (const auto& buffer : room) {
      if (buffer.size() == 0) continue;
      const std::span<char> into(static_cast<char*>(buffer.data()), buffer.size());
      auto count = co_await stream.read_some(into, Deadline::never());
      moved.count = count ? *count : 0;
      if (moved.count == 0) moved.code = asio::error::eof;
      break;
    }
    co_return moved;
  }

  static Task<Moved> write(std::shared_ptr<ClientStream> client_stream, std::vector<asio::const_buffer> bytes) {
    Moved moved;
    // Frames are small or one large piece behind a small head: joined, a small one is a single packet.
    std::string joined;
    for (const auto& buffer : bytes) joined.append(static_cast<const char*>(buffer.data()), buffer.size());
    auto written = co_await client_stream->write(joined);
    if (written) {
      moved.count = joined.size();
    } else {
      moved.code = asio::error::broken_pipe;
    }
    co_return moved;
  }

  std::shared_ptr<ClientStream> client_stream_;
  Executor executor_;
};

// Beast finds these by their names. The connection ends in good order when the handler does, so there is nothing to do
// for the first.
template <class Handler>
void async_teardown(beast::role_type, ClientStreamLayer& layer, Handler&& handler) {
  asio::post(layer.get_executor(), beast::bind_handler(std::forward<Handler>(handler), error_code()));
}
[[maybe_unused]] void beast_close_socket(ClientStreamLayer& layer) { layer.client_stream().close(); }

using Native = websocket::stream<ClientStreamLayer, false>;

Error websocket_error(std::string_view step, const error_code& code) {
  ErrorCode kind = ErrorCode::unavailable;
  if (code == websocket::error::message_too_big || code == websocket::error::buffer_overflow) {
    kind = ErrorCode::limit_reached;
  } else if (code == beast::error::timeout) {
    kind = ErrorCode::timeout;
  } else if (code.category() == make_error_code(websocket::error::closed).category()) {
    kind = ErrorCode::protocol;
  }
  return Error{kind, std::string(step) + ": " + code.message()};
}

Task<> throw_when_cancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) {
    throw boost::system::system_error(asio::error::operation_aborted);
  }
}

class BeastWebSocket final : public WebSocket {
 public:
  BeastWebSocket(const std::shared_ptr<ClientStream>& client_stream, const Executor& executor,
                 const WebSocketOptions& options, std::string protocol, std::unique_ptr<BodyShare> share)
      : native_(ClientStreamLayer(client_stream, executor)), protocol_(std::move(protocol)), share_(std::move(share)) {
    websocket::stream_base::timeout timeout{};
    timeout.handshake_timeout = options.close_timeout;
    timeout.idle_timeout = options.idle;
    timeout.keep_alive_pings = true;
    native_.set_option(timeout);
    native_.read_message_max(options.message.count);
    native_.auto_fragment(false);
  }

  Task<Status> accept(const RequestHead& head, const std::string& request_id) {
    beast::http::request<beast::http::empty_body> request;
    request.method(beast::http::verb::get);
    request.target(head.target.path);
    for (const auto& [name, value] : head.fields) request.insert(name, value);
    native_.set_option(websocket::stream_base::decorator([this, request_id](websocket::response_type& response) {
      response.set("X-Request-Id", request_id);
      if (!protocol_.empty()) response.set(beast::http::field::sec_websocket_protocol, protocol_);
    }));
    error_code code;
    co_await native_.async_accept(request, asio::redirect_error(asio::use_awaitable, code));
    if (code) co_return fail(websocket_error("accept WebSocket", code));
    co_return Status{};
  }

  Task<Result<std::optional<WebSocketMessage>>> read() override {
    constexpr std::size_t piece_size = 16 << 10;
    beast::flat_buffer buffer;
    share_->give_back();  // the last message has been used
    do {
      error_code code;
      const std::size_t count =
          co_await native_.async_read_some(buffer, piece_size, asio::redirect_error(asio::use_awaitable, code));
      co_await throw_when_cancelled();
      if (code == websocket::error::closed) co_return std::nullopt;
      if (code) co_return fail(websocket_error("read WebSocket", code));
      if (const auto refusal = share_->take(count)) {
        constexpr std::uint16_t try_again_later = 1013;
        auto told = co_await close(try_again_later, "not enough memory for the message; retry soon");
        co_return fail(ErrorCode::limit_reached, refusal->why);
      }
    } while (!native_.is_message_done());
    WebSocketMessage message;
    message.kind = native_.got_text() ? MessageKind::text : MessageKind::binary;
    message.data.assign(static_cast<const char*>(buffer.data().data()), buffer.size());
    co_return message;
  }

  Task<Status> write(MessageKind kind, std::string_view data) override {
    native_.text(kind == MessageKind::text);
    error_code code;
    co_await native_.async_write(asio::buffer(data.data(), data.size()),
                                 asio::redirect_error(asio::use_awaitable, code));
    co_await throw_when_cancelled();
    if (code) co_return fail(websocket_error("write WebSocket", code));
    co_return Status{};
  }

  Task<Status> close(std::uint16_t close_code, std::string reason) override {
    constexpr std::size_t longest_reason = 123;
    reason.resize(std::min(reason.size(), longest_reason));
    const websocket::close_reason why(static_cast<websocket::close_code>(close_code), reason);
    error_code code;
    co_await native_.async_close(why, asio::redirect_error(asio::use_awaitable, code));
    co_await throw_when_cancelled();
    if (code) co_return fail(websocket_error("close WebSocket", code));
    co_return Status{};
  }

  const std::string& protocol() const override { return protocol_; }

 private:
  Native native_;
  std::string protocol_;
  std::unique_ptr<BodyShare> share_;  // of the message that is being read, or used
};

std::string choose(const Fields& fields, const std::vector<std::string>& known) {
  std::string_view offered = field_value(fields, "Sec-WebSocket-Protocol");
  while (!offered.empty()) {
    const auto comma = std::min(offered.find(','), offered.size());
    const auto name = without_blanks_around(offered.substr(0, comma));
    if (std::ranges::find(known, name) != known.end()) return std::string(name);
    offered.remove_prefix(std::min(comma + 1, offered.size()));
  }
  return "";
}

// Why this request cannot become a WebSocket, if so.
std::optional<RequestError> trouble_with(const ExchangeParts& parts) {
  const RequestHead& head = parts.head;
  const bool asked = head.method == "GET" && head.version == Version::http_1_1 &&
                     list_has(field_value(head.fields, "Connection"), "upgrade") &&
                     list_has(field_value(head.fields, "Upgrade"), "websocket");
  if (!asked || field_value(head.fields, "Sec-WebSocket-Version") != "13") {
    return RequestError{426, "this route requires WebSocket version 13"};
  }
  // Sixteen bytes in base64.
  const auto key = field_value(head.fields, "Sec-WebSocket-Key");
  if (key.size() != 24 || !key.ends_with("==") || !parts.body.done())
    return RequestError{400, "invalid WebSocket handshake"};
  return std::nullopt;
}

}  // namespace

Task<Result<std::unique_ptr<WebSocket>>> accept_websocket(Exchange& exchange, WebSocketOptions options) {
  ExchangeParts& parts = ExchangeAccess::parts(exchange);
  if (auto trouble = trouble_with(parts)) {
    Fields fields;
    if (trouble->status == 426) {
      fields.emplace_back("Upgrade", "websocket");
      fields.emplace_back("Sec-WebSocket-Version", "13");
    }
    std::string why = trouble->why;
    CLOCHE_CO_CHECK(co_await exchange.refuse(trouble->status, std::move(why), std::move(fields)));
    co_return fail(ErrorCode::invalid_argument, trouble->why);
  }
  CLOCHE_CO_CHECK(parts.answer.hand_over(101));
  auto socket = std::make_unique<BeastWebSocket>(parts.shared_stream, parts.server.executor, options,
                                                 choose(parts.head.fields, options.protocols), parts.share.another());
  CLOCHE_CO_CHECK(co_await socket->accept(parts.head, parts.request_id));
  co_return socket;
}

}  // namespace cloche::http
