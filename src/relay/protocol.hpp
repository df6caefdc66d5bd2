// The relay protocol: how a server and the relay in a sandbox continue over a new connection where the last one was
// cut. No I/O here.
//
// A connection begins with two handshakes, first the server's, then the relay's:
//
//   offset  size
//        0     8  magic
//        8     1  version
//        9     1  kind          begin, resume (server); accepted, refused (relay)
//       10     1  reason        of a refusal; else 0
//       11     5  zero
//       16    16  conversation  random; each server process has its own
//       32     8  attempt       little endian; counts the dials of a conversation, and the relay repeats it
//       40     8  consumed      little endian; bytes of the other direction that this side has passed on
//
// Frames follow, both ways:
//
//        0     1  type
//        1     4  length  little endian
//        5     n  payload: data: 1 to max_payload bytes; ack: 8 bytes, the bytes consumed so far; end: the reason, then
//                 4 bytes, the agent's wait status. Nothing follows an end.
//
// The data of a connection starts at the offset that the other side's handshake names as consumed. At most `window`
// bytes of a direction are sent and not acknowledged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::relay {

// The abstract unix socket of the relay. Only the sandbox's own network namespace has it.
constexpr std::string_view socket_name = "cloche-relay";

constexpr std::uint8_t version = 1;
constexpr std::size_t handshake_size = 48;
constexpr std::size_t header_size = 5;
constexpr std::size_t max_payload = 64 * 1024;
constexpr std::size_t window = 1024 * 1024;

// When to acknowledge, and when to say something on an idle connection.
constexpr std::size_t ack_bytes = 64 * 1024;

using Conversation = std::array<char, 16>;

enum class HandshakeKind : std::uint8_t {
  begin = 1,     // a new conversation, unless the relay has begun it already
  resume = 2,    // one that the relay has accepted before
  accepted = 3,  // it continues; frames follow
  refused = 4,   // it does not; nothing follows
};

// Why a conversation, or one connection of it, is over.
enum class Reason : std::uint8_t {
  none = 0,
  agent_ended = 1,
  replaced = 2,      // another server has begun a conversation
  unknown = 3,       // the relay does not know the conversation
  out_of_range = 4,  // the relay no longer has the bytes that follow
  stale = 5,         // a later attempt of the same conversation was accepted
  no_relay = 6,      // no relay listens: said by `dial`
};

struct Handshake {
  HandshakeKind kind = HandshakeKind::begin;
  Reason reason = Reason::none;
  Conversation conversation{};
  std::uint64_t attempt = 0;
  std::uint64_t consumed = 0;
  bool operator==(const Handshake&) const = default;
};

std::string encode(const Handshake& handshake);
// `protocol` for anything but a valid handshake of this version.
Result<Handshake> decode_handshake(std::span<const char, handshake_size> bytes);

enum class FrameType : std::uint8_t { data = 1, ack = 2, end = 3 };

struct Frame {
  FrameType type = FrameType::data;
  std::string_view payload;        // of data
  std::uint64_t consumed = 0;      // of an ack
  Reason reason = Reason::none;    // of an end
  std::uint32_t agent_status = 0;  // of an end, as of wait(2)
};

// Appends one frame.
void append_data(std::string& out, std::string_view payload);
void append_ack(std::string& out, std::uint64_t consumed);
void append_end(std::string& out, Reason reason, std::uint32_t agent_status = 0);

// Turns bytes into frames, however they are split. Its memory is bounded by two of the longest frames.
class Decoder {
 public:
  // Room for at least one byte, and how many bytes were then written there. Views returned before become invalid.
  // Call next() until it returns nothing in between.
  std::span<char> room();
  void fed(std::size_t count) { end_ += count; }
  // The same with a copy: takes as many as fit, and returns how many that are.
  std::size_t feed(std::string_view bytes);

  // The next whole frame; nullopt when more bytes are needed. An error is final.
  Result<std::optional<Frame>> next();

  std::size_t buffered() const { return end_ - position_; }

 private:
  std::unique_ptr<char[]> buffer_;
  std::size_t position_ = 0;
  std::size_t end_ = 0;
  bool has_ended_ = false;
};

}  // namespace cloche::relay
