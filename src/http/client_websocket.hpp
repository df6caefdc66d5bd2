// ClientWebSocket: messages both ways over a connection that a client has upgraded (RFC 6455).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/async/event.hpp"
#include "http/client.hpp"
#include "http/websocket_frames.hpp"

namespace cloche::http {

struct ClientWebSocketOptions {
  Bytes message = mib(1);              // the largest that is taken
  std::vector<std::string> protocols;  // in the order of preference; the server has to choose one, if there are any
  Fields fields;                       // more fields of the request
};

// One reader and one writer at a time; neither waits for the other. Pings are answered while a read is pending.
class ClientWebSocket {
 public:
  ClientWebSocket(const Executor& executor, std::unique_ptr<Stream> stream, std::string read_ahead,
                  std::string protocol, Bytes largest);
  ClientWebSocket(const ClientWebSocket&) = delete;
  ClientWebSocket& operator=(const ClientWebSocket&) = delete;

  // The next message; nullopt if the server has closed properly. `unavailable` if the connection is gone, `protocol` if
  // the server violates the protocol, `limit_reached` for a message that is too large.
  Task<Result<std::optional<std::string>>> read(Deadline deadline);
  // A binary message.
  Task<Status> write(std::string_view message, Deadline deadline);
  // Ends pending calls with an error. The server sees the end of the connection.
  void close() { stream_->close(); }

  const std::string& protocol() const { return protocol_; }

 private:
  Task<Status> send(FrameKind kind, std::string_view payload, Deadline deadline);
  Task<Status> answer_ping(std::string payload, Deadline deadline);

  std::unique_ptr<Stream> stream_;
  std::string protocol_;
  ServerFrames frames_;
  std::string buffer_;
  bool is_writing_ = false;
  std::optional<std::string> owed_pong_;
  Event written_;
};

struct WebSocketAnswer {
  std::unique_ptr<ClientWebSocket> socket;  // none if the server refused; then `response` says why
  Response response;
};

// Asks for a WebSocket at `target`. Errors as of Client; `protocol` if the server's handshake is invalid.
Task<Result<WebSocketAnswer>> open_websocket(Client& client, Executor executor, std::string target,
                                             ClientWebSocketOptions options, Deadline deadline);

// The value that a server has to respond with to this key.
std::string websocket_accept(std::string_view key);

}  // namespace cloche::http
