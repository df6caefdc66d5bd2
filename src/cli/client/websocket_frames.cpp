#include "cli/client/websocket_frames.hpp"

#include <algorithm>
#include <utility>

namespace cloche::cli {

namespace {

constexpr std::uint8_t last_bit = 0x80;
constexpr std::uint8_t reserved_bits = 0x70;
constexpr std::uint8_t masked_bit = 0x80;
constexpr std::size_t longest_control = 125;

bool is_control(Opcode opcode) { return static_cast<std::uint8_t>(opcode) >= 8; }

bool is_known(std::uint8_t opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

std::unexpected<Error> broken(const char* how) {
  return fail(ErrorCode::protocol, std::string("the service violates the WebSocket protocol: ") + how);
}

}  // namespace

std::string encode_frame(Opcode opcode, std::string_view payload, FrameMask mask) {
  std::string frame;
  frame.reserve(payload.size() + 14);
  frame += static_cast<char>(last_bit | static_cast<std::uint8_t>(opcode));
  const auto put_length = [&](int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      frame += static_cast<char>((static_cast<std::uint64_t>(payload.size()) >> shift) & 0xff);
    }
  };
  if (payload.size() < 126) {
    frame += static_cast<char>(masked_bit | payload.size());
  } else if (payload.size() <= 0xffff) {
    frame += static_cast<char>(masked_bit | 126);
    put_length(2);
  } else {
    frame += static_cast<char>(masked_bit | 127);
    put_length(8);
  }
  frame.append(mask.data(), mask.size());
  for (std::size_t i = 0; i < payload.size(); ++i) frame += static_cast<char>(payload[i] ^ mask[i % mask.size()]);
  return frame;
}

Result<std::optional<FrameDecoder::Head>> FrameDecoder::read_head() const {
  const auto byte = [this](std::size_t at) { return static_cast<std::uint8_t>(unread_[at]); };
  if (unread_.size() < 2) return std::nullopt;
  if ((byte(0) & reserved_bits) != 0 || !is_known(byte(0) & 0x0f)) return broken("frame of an unknown type");
  if ((byte(1) & masked_bit) != 0) return broken("masked frame");
  Head head;
  head.is_last = (byte(0) & last_bit) != 0;
  head.opcode = static_cast<Opcode>(byte(0) & 0x0f);
  head.size = 2;
  head.payload = byte(1);
  if (is_control(head.opcode) && (head.payload > longest_control || !head.is_last))
    return broken("control frame that is too long");
  const std::size_t more = head.payload == 126 ? 2 : head.payload == 127 ? 8 : 0;
  if (unread_.size() < head.size + more) return std::nullopt;
  if (more > 0) head.payload = 0;
  for (std::size_t i = 0; i < more; ++i) head.payload = (head.payload << 8) | byte(head.size + i);
  head.size += more;
  return head;
}

Result<std::optional<WebSocketMessage>> FrameDecoder::next() {
  for (;;) {
    CLOCHE_TRY(const std::optional<Head> head, read_head());
    if (!head) return std::nullopt;
    const std::size_t begun = begun_ ? begun_->data.size() : 0;
    if (head->payload > most_.count - std::min<std::uint64_t>(begun, most_.count)) {
      return fail(ErrorCode::limit_reached, "the service sent a message that is too long");
    }
    if (unread_.size() - head->size < head->payload) return std::nullopt;
    std::string payload = unread_.substr(head->size, head->payload);
    unread_.erase(0, head->size + head->payload);
    CLOCHE_TRY(auto message, take_frame(*head, std::move(payload)));
    if (message) return message;
  }
}

Result<std::optional<WebSocketMessage>> FrameDecoder::take_frame(const Head& head, std::string payload) {
  if (is_control(head.opcode)) return WebSocketMessage{head.opcode, std::move(payload)};
  const bool goes_on = head.opcode == Opcode::continuation;
  if (goes_on != begun_.has_value()) return broken("message inside another message");
  if (!goes_on) begun_ = WebSocketMessage{head.opcode, {}};
  begun_->data += payload;
  if (!head.is_last) return std::nullopt;
  return std::exchange(begun_, std::nullopt);
}

}  // namespace cloche::cli
