// WebSocket: messages both ways, over a connection to the service that began as HTTP.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/client/service.hpp"
#include "cli/client/websocket_frames.hpp"
#include "core/async/gate.hpp"

namespace cloche::cli {

// The value that a server must send in Sec-WebSocket-Accept.
std::string websocket_accept(std::string_view key);

// One reader; several may write. Pings are answered while a read is pending.
class WebSocket {
 public:
  static Task<Result<std::unique_ptr<WebSocket>>> open(Service& service, std::string target, Deadline deadline);

  // The next message, text or binary; nothing when the service has closed. `unavailable` when it is gone.
  Task<Result<std::optional<WebSocketMessage>>> read();
  Task<Status> write(Opcode opcode, std::string data);

 private:
  WebSocket(const Executor& executor, std::unique_ptr<http::Stream> stream)
      : stream_(std::move(stream)), writing_(executor, 1) {}

  std::unique_ptr<http::Stream> stream_;
  FrameDecoder decoder_;
  Gate writing_;
};

}  // namespace cloche::cli
