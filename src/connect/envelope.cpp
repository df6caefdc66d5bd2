#include "connect/envelope.hpp"

namespace cloche::connect {

namespace {

std::uint32_t length_in(std::string_view head) {
  std::uint32_t length = 0;
  for (std::size_t i = 1; i < envelope_head; ++i) length = length << 8 | static_cast<std::uint8_t>(head[i]);
  return length;
}

}  // namespace

std::string in_envelope(std::uint8_t flags, std::string_view message) {
  std::string envelope;
  envelope.reserve(envelope_head + message.size());
  envelope += static_cast<char>(flags);
  for (int shift = 24; shift >= 0; shift -= 8) envelope += static_cast<char>(message.size() >> shift & 0xff);
  envelope += message;
  return envelope;
}

Result<std::optional<Envelope>> EnvelopeReader::next() {
  if (has_ended_ && !bytes_.empty()) return fail(ErrorCode::protocol, "bytes after the last message of a stream");
  if (bytes_.size() < envelope_head) return std::nullopt;
  const auto flags = static_cast<std::uint8_t>(bytes_.front());
  if ((flags & envelope_flags::compressed) != 0)
    return fail(ErrorCode::unsupported, "compressed messages are not supported; send them as they are");
  Envelope envelope;
  envelope.is_last = sender_ == Sender::server && flags == envelope_flags::end_of_stream;
  if (flags != 0 && !envelope.is_last)
    return fail(ErrorCode::protocol, "invalid flags of a message: " + std::to_string(flags));
  const std::size_t length = length_in(bytes_);
  if (length > longest_) {
    return fail(ErrorCode::limit_reached, "the message has " + std::to_string(length) + " bytes, more than the " +
                                              std::to_string(longest_) + " allowed");
  }
  if (bytes_.size() < envelope_head + length) return std::nullopt;
  envelope.message = bytes_.substr(envelope_head, length);
  bytes_.erase(0, envelope_head + length);
  has_ended_ = envelope.is_last;
  return envelope;
}

}  // namespace cloche::connect
