#include "relay/protocol.hpp"

#include <algorithm>
#include <cassert>
#include <concepts>

namespace cloche::relay {

namespace {

// The line break is changed by anything that takes the stream for text.
constexpr std::string_view handshake_magic = "\xc1relay\r\n";
constexpr std::size_t version_at = 8;
constexpr std::size_t kind_at = 9;
constexpr std::size_t reason_at = 10;
constexpr std::size_t zero_at = 11;
constexpr std::size_t conversation_at = 16;
constexpr std::size_t attempt_at = 32;
constexpr std::size_t consumed_at = 40;

constexpr std::size_t ack_size = 8;
constexpr std::size_t end_size = 5;
constexpr std::size_t buffer_size = 2 * (header_size + max_payload);

template <std::unsigned_integral Number>
void put_number(char* at, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

template <std::unsigned_integral Number>
Number get_number(const char* at) {
  Number value = 0;
  for (std::size_t i = sizeof value; i-- > 0;)
    value = static_cast<Number>(value << 8 | static_cast<unsigned char>(at[i]));
  return value;
}

bool is_reason(std::uint8_t number) { return number <= static_cast<std::uint8_t>(Reason::no_relay); }

void append_header(std::string& out, FrameType type, std::size_t length) {
  char header[header_size];
  header[0] = static_cast<char>(type);
  put_number(header + 1, static_cast<std::uint32_t>(length));
  out.append(header, header_size);
}

Status check_length(FrameType type, std::uint32_t length) {
  const auto is_valid = [&] {
    switch (type) {
      case FrameType::data: return length >= 1 && length <= max_payload;
      case FrameType::ack: return length == ack_size;
      case FrameType::end: return length == end_size;
    }
    return false;
  };
  if (is_valid()) return {};
  return fail(ErrorCode::protocol, "relay frame of type " + std::to_string(static_cast<int>(type)) + " with " +
                                       std::to_string(length) + " bytes");
}

}  // namespace

std::string encode(const Handshake& handshake) {
  std::string bytes(handshake_size, '\0');
  std::ranges::copy(handshake_magic, bytes.begin());
  bytes[version_at] = static_cast<char>(version);
  bytes[kind_at] = static_cast<char>(handshake.kind);
  bytes[reason_at] = static_cast<char>(handshake.reason);
  std::ranges::copy(handshake.conversation, bytes.begin() + conversation_at);
  put_number(bytes.data() + attempt_at, handshake.attempt);
  put_number(bytes.data() + consumed_at, handshake.consumed);
  return bytes;
}

Result<Handshake> decode_handshake(std::span<const char, handshake_size> bytes) {
  const std::string_view text(bytes.data(), bytes.size());
  if (!text.starts_with(handshake_magic)) return fail(ErrorCode::protocol, "the handshake is not that of a relay");
  if (const auto theirs = static_cast<std::uint8_t>(bytes[version_at]); theirs != version) {
    return fail(ErrorCode::protocol,
                "relay protocol " + std::to_string(theirs) + ", expected " + std::to_string(version));
  }
  const auto kind = static_cast<std::uint8_t>(bytes[kind_at]);
  const auto reason = static_cast<std::uint8_t>(bytes[reason_at]);
  const bool is_refusal = kind == static_cast<std::uint8_t>(HandshakeKind::refused);
  const bool has_zeros = text.substr(zero_at, conversation_at - zero_at).find_first_not_of('\0') == text.npos;
  if (kind < static_cast<std::uint8_t>(HandshakeKind::begin) ||
      kind > static_cast<std::uint8_t>(HandshakeKind::refused) || !is_reason(reason) || is_refusal != (reason != 0) ||
      !has_zeros) {
    return fail(ErrorCode::protocol, "malformed relay handshake");
  }
  Handshake handshake{.kind = static_cast<HandshakeKind>(kind), .reason = static_cast<Reason>(reason)};
  std::copy_n(bytes.begin() + conversation_at, handshake.conversation.size(), handshake.conversation.begin());
  handshake.attempt = get_number<std::uint64_t>(bytes.data() + attempt_at);
  handshake.consumed = get_number<std::uint64_t>(bytes.data() + consumed_at);
  return handshake;
}

void append_data(std::string& out, std::string_view payload) {
  assert(!payload.empty() && payload.size() <= max_payload);
  append_header(out, FrameType::data, payload.size());
  out += payload;
}

void append_ack(std::string& out, std::uint64_t consumed) {
  append_header(out, FrameType::ack, ack_size);
  char number[ack_size];
  put_number(number, consumed);
  out.append(number, ack_size);
}

void append_end(std::string& out, Reason reason, std::uint32_t agent_status) {
  append_header(out, FrameType::end, end_size);
  char payload[end_size];
  payload[0] = static_cast<char>(reason);
  put_number(payload + 1, agent_status);
  out.append(payload, end_size);
}

std::span<char> Decoder::room() {
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(buffer_size);
  if (position_ == end_) position_ = end_ = 0;
  // What is left is less than a frame, so at least one frame fits behind it.
  if (buffer_size - end_ < max_payload) {
    std::copy(buffer_.get() + position_, buffer_.get() + end_, buffer_.get());
    end_ = buffered();
    position_ = 0;
  }
  return {buffer_.get() + end_, buffer_size - end_};
}

std::size_t Decoder::feed(std::string_view bytes) {
  const std::span<char> to = room();
  const std::size_t count = bytes.copy(to.data(), to.size());
  fed(count);
  return count;
}

Result<std::optional<Frame>> Decoder::next() {
  if (buffered() == 0) return std::nullopt;
  if (has_ended_) return fail(ErrorCode::protocol, "relay frame after the end");
  const char* at = buffer_.get() + position_;
  const auto type = static_cast<unsigned char>(at[0]);
  if (type < static_cast<unsigned char>(FrameType::data) || type > static_cast<unsigned char>(FrameType::end)) {
    return fail(ErrorCode::protocol, "relay frame of unknown type " + std::to_string(type));
  }
  if (buffered() < header_size) return std::nullopt;
  Frame frame{.type = static_cast<FrameType>(type)};
  const auto length = get_number<std::uint32_t>(at + 1);
  CLOCHE_CHECK(check_length(frame.type, length));
  if (buffered() < header_size + length) return std::nullopt;
  const char* payload = at + header_size;
  switch (frame.type) {
    case FrameType::data: frame.payload = {payload, length}; break;
    case FrameType::ack: frame.consumed = get_number<std::uint64_t>(payload); break;
    case FrameType::end: {
      const auto reason = static_cast<std::uint8_t>(payload[0]);
      if (reason == 0 || !is_reason(reason)) return fail(ErrorCode::protocol, "relay end without a valid reason");
      frame.reason = static_cast<Reason>(reason);
      frame.agent_status = get_number<std::uint32_t>(payload + 1);
      has_ended_ = true;
      break;
    }
  }
  position_ += header_size + length;
  return frame;
}

}  // namespace cloche::relay
