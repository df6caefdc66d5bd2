// WebSocket: messages both ways over a connection that began as HTTP.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/server/exchange.hpp"

namespace cloche::http {

struct WebSocketOptions {
  Bytes message = mib(1);  // the largest that is taken
  // A client that says nothing for half of this is pinged, and is gone when that brings no answer either.
  std::chrono::steady_clock::duration idle = std::chrono::minutes(2);
  std::chrono::steady_clock::duration close_timeout = std::chrono::seconds(5);
  std::vector<std::string> protocols;  // of which the client's first choice is taken
};

enum class MessageKind { text, binary };

struct WebSocketMessage {
  MessageKind kind = MessageKind::binary;
  std::string data;  // UTF-8 when it is text
};

// Used by one reader and one writer at a time, and not longer than its exchange. Pings are answered while a read is
// pending.
class WebSocket {
 public:
  virtual ~WebSocket() = default;

  // The next message; nothing if the client has closed properly. `unavailable` if it is gone, `limit_reached` if a
  // message is too large, `protocol` if it violates the protocol; in the last two cases the client has been notified.
  virtual Task<Result<std::optional<WebSocketMessage>>> read() = 0;
  virtual Task<Status> write(MessageKind kind, std::string_view data) = 0;
  // Says why and waits a little for the client to agree. Codes are those of RFC 6455, 1000 being a normal end.
  virtual Task<Status> close(std::uint16_t code, std::string reason) = 0;
  // The protocol agreed upon; empty when none was asked for, or none of those known.
  virtual const std::string& protocol() const = 0;
};

// Takes the connection over. `invalid_argument` when the client did not ask for a WebSocket; then it has been answered
// with 426 or 400.
Task<Result<std::unique_ptr<WebSocket>>> accept_websocket(Exchange& exchange, WebSocketOptions options);
inline Task<Result<std::unique_ptr<WebSocket>>> accept_websocket(Exchange& exchange) {
  return accept_websocket(exchange, WebSocketOptions());
}

}  // namespace cloche::http
