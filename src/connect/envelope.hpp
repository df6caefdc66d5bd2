// Envelopes: the messages of a stream. One byte of flags, four bytes of length (the highest first), the message. No
// I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::connect {

namespace envelope_flags {
constexpr std::uint8_t compressed = 0x01;
constexpr std::uint8_t end_of_stream = 0x02;
}  // namespace envelope_flags

constexpr std::size_t envelope_head = 5;

// The message with its head. It is shorter than 4 GiB.
std::string in_envelope(std::uint8_t flags, std::string_view message);

// Only a server ends its stream by a message of its own.
enum class Sender { client, server };

struct Envelope {
  std::string message;
  bool is_last = false;  // how the stream ended; nothing follows
};

// Takes a stream apart that comes in pieces of any size.
class EnvelopeReader {
 public:
  // No message may be longer than `longest`.
  EnvelopeReader(Sender sender, std::size_t longest) : sender_(sender), longest_(longest) {}

  void feed(std::string_view piece) { bytes_.append(piece); }
  // The next message that is complete. `limit_reached` for one that is too long, before any of it is needed;
  // `unsupported` for one that is compressed; `protocol` for unknown flags, and for bytes behind the last message.
  // Errors are final.
  Result<std::optional<Envelope>> next();
  // Whether the stream may end here.
  bool is_between_messages() const { return bytes_.empty(); }

 private:
  Sender sender_;
  std::size_t longest_;
  std::string bytes_;
  bool has_ended_ = false;
};

}  // namespace cloche::connect
