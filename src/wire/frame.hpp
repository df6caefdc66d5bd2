// Frames: how bytes on the channel are cut into pieces. No I/O here.
//
//   offset  size
//        0     1  type
//        1     1  lane      which of a stream's byte lanes (data, eof, credit); else 0
//        2     1  flags     bit 0: more of the same message follows
//        3     1  magic     0xc1
//        4     4  stream    little endian; 0 is the channel itself
//        8     4  length    little endian, at most max_payload
//       12     n  payload
//     12+n     1  seal      0xa5
//
// A header's first byte 0 is padding and is skipped alone. A peer that lost its place (the server died in the middle
// of a frame and another took over) sends resync_padding() zeros and then a frame: whatever was half sent is
// completed by zeros, fails its seal and is dropped, and the decoder stands at a frame's start again.
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

namespace cloche::wire {

enum class FrameType : std::uint8_t {
  padding = 0,
  hello = 1,    // server to agent: a Hello; starts or takes over the conversation
  ready = 2,    // agent to server: a Ready; the answer
  open = 3,     // server to agent: a request opens a stream
  message = 4,  // either way, on an open stream
  data = 5,     // either way: bytes of a lane, within the credit given
  eof = 6,      // either way: no more bytes on this lane
  credit = 7,   // either way: a Credit, so many more bytes may be sent on this lane
  cancel = 8,   // server to agent: end this stream's work now
  close = 9,    // agent to server: the stream has ended; a Closed
  ping = 10,
  pong = 11,
};

using StreamId = std::uint32_t;

constexpr std::size_t header_size = 12;
constexpr std::size_t seal_size = 1;
constexpr std::size_t max_payload = 64 * 1024;
// A message may be longer than a frame, but not longer than this.
constexpr std::size_t max_message = 4 * 1024 * 1024;
// Bytes that may be under way on one lane before the receiver gave more credit.
constexpr std::uint32_t initial_credit = 256 * 1024;

// Byte lanes of a stream.
namespace lane {
constexpr std::uint8_t in = 0;     // stdin; towards a file or a socket
constexpr std::uint8_t out = 1;    // stdout; from a file or a socket
constexpr std::uint8_t err = 2;    // stderr
constexpr std::uint8_t event = 3;  // what a program says on a descriptor of its own for that
constexpr std::uint8_t count = 4;
}  // namespace lane

using LaneCredit = std::array<std::uint64_t, lane::count>;
// What every lane of a stream starts with.
constexpr LaneCredit full_credit() {
  LaneCredit credit{};
  credit.fill(initial_credit);
  return credit;
}

struct Frame {
  FrameType type = FrameType::padding;
  std::uint8_t lane = 0;
  bool more = false;
  StreamId stream = 0;
  std::string_view payload;
};

// Appends one frame. The payload is at most max_payload.
void append_frame(std::string& out, const Frame& frame);
// Completes a frame whose payload is already in memory, header_size bytes behind `at`: writes the header before it and
// the seal behind it. Returns the size of the whole frame.
std::size_t enclose_payload(char* at, FrameType type, std::uint8_t lane, StreamId stream, std::size_t size);
// Appends a message of up to max_message as one frame or several.
void append_message(std::string& out, FrameType type, StreamId stream, std::string_view message);
// The zeros that complete any frame that was cut off.
std::string resync_padding();

// Turns bytes into frames, whatever the bytes and however they are split.
class FrameDecoder {
 public:
  // Takes bytes in. Views handed out before become invalid.
  void feed(std::string_view bytes);
  // The same without a copy: room for so many bytes, and how many of them were then written there.
  std::span<char> room(std::size_t size);
  void fed(std::size_t count) { end_ += count; }
  // The next whole frame; nullopt when more bytes are needed. An error is final: nothing after it can be trusted.
  // A frame whose seal is broken is dropped in silence if `resync` was asked for, else it is an error.
  Result<std::optional<Frame>> next();

  enum class OnBrokenSeal { error, drop };
  explicit FrameDecoder(OnBrokenSeal on_broken_seal = OnBrokenSeal::error) : on_broken_seal_(on_broken_seal) {}

  std::size_t buffered() const { return end_ - position_; }

 private:
  OnBrokenSeal on_broken_seal_;
  // Not filled: only the part that was written to is in memory.
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t position_ = 0;  // of the next frame
  std::size_t end_ = 0;       // of what was fed
};

// The whole frame that these bytes begin with, if they do. Copies nothing, and looks at no more than header and seal.
std::optional<Frame> whole_frame_at(std::string_view bytes);

// Joins the frames of one stream's messages; one per stream and direction.
class MessageAssembler {
 public:
  // The whole message once its last frame is there. The view lives until the next call.
  Result<std::optional<std::string_view>> add(const Frame& frame);

 private:
  std::string parts_;
  bool joined_ = false;
};

}  // namespace cloche::wire
