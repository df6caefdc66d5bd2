// Frames of a WebSocket, as its client sends and receives them (RFC 6455). No I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "core/result.hpp"

namespace cloche::http {

enum class FrameKind : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

using FrameMask = std::array<char, 4>;

// One whole message in one frame of a client, masked.
std::string client_frame(FrameKind kind, std::string_view payload, const FrameMask& mask);

// What a server sent: a whole message, however many frames it came in, or a control frame.
struct ServerFrame {
  FrameKind kind = FrameKind::binary;  // never a continuation
  std::string payload;
};

// The code of the payload of a close frame; 1005 if it has none.
std::uint16_t close_code_of(std::string_view payload);

// Takes bytes as they come. A server that violates the protocol is `protocol`, a message beyond `largest` is
// `limit_reached`; both are final.
class ServerFrames {
 public:
  explicit ServerFrames(Bytes largest) : largest_(largest) {}

  void feed(std::string_view bytes) { unread_ += bytes; }
  // The next; nullopt if more bytes are needed.
  Result<std::optional<ServerFrame>> next();

 private:
  struct Head {
    bool is_last = true;
    FrameKind kind = FrameKind::binary;
    std::uint64_t size = 0;
    std::size_t length = 0;  // of the head itself
  };
  Result<std::optional<Head>> read_head() const;
  Status check(const Head& head) const;

  Bytes largest_;
  std::string unread_;
  std::optional<FrameKind> message_;  // whose frames are arriving
  std::string collected_;
};

}  // namespace cloche::http
