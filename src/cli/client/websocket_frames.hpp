// Frames of WebSockets (RFC 6455) as a client writes and reads them. No I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/result.hpp"

namespace cloche::cli {

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

using FrameMask = std::array<char, 4>;

// One whole message in one frame, masked as a client must.
std::string encode_frame(Opcode opcode, std::string_view payload, FrameMask mask);

struct WebSocketMessage {
  Opcode opcode = Opcode::binary;  // never `continuation`
  std::string data;
};

// Messages out of a server's bytes as they come; pieces of one message are put together.
class FrameDecoder {
 public:
  explicit FrameDecoder(Bytes most = mib(4)) : most_(most) {}

  void feed(std::string_view bytes) { unread_.append(bytes); }
  // The next message, including control frames; nothing if more bytes are needed. `protocol` if the server violates the
  // protocol, `limit_reached` if a message is too long.
  Result<std::optional<WebSocketMessage>> next();

 private:
  struct Head {
    bool is_last = false;
    Opcode opcode = Opcode::binary;
    std::size_t size = 0;  // of the head
    std::uint64_t payload = 0;
  };
  Result<std::optional<Head>> read_head() const;
  Result<std::optional<WebSocketMessage>> take_frame(const Head& head, std::string payload);

  Bytes most_;
  std::string unread_;
  std::optional<WebSocketMessage> begun_;  // in pieces
};

}  // namespace cloche::cli
