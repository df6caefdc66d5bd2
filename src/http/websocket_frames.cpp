#include "http/websocket_frames.hpp"

namespace cloche::http {

namespace {

constexpr unsigned char final_bit = 0x80;
constexpr unsigned char reserved_bits = 0x70;
constexpr unsigned char mask_bit = 0x80;
constexpr std::size_t longest_short = 125;
constexpr unsigned char two_bytes = 126;
constexpr unsigned char eight_bytes = 127;
constexpr std::uint16_t no_close_code = 1005;

bool is_control(FrameKind kind) { return (static_cast<unsigned>(kind) & 8U) != 0; }

bool is_known(unsigned char code) { return code <= 2 || (code >= 8 && code <= 10); }

std::unexpected<Error> violation(std::string what) {
  return fail(ErrorCode::protocol, "invalid WebSocket frame: " + std::move(what));
}

std::uint64_t number_at(std::string_view bytes, std::size_t from, std::size_t count) {
  std::uint64_t number = 0;
  for (const char byte : bytes.substr(from, count)) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

void put_number(std::string& into, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) into += static_cast<char>(number >> shift);
}

}  // namespace

std::string client_frame(FrameKind kind, std::string_view payload, const FrameMask& mask) {
  std::string frame;
  frame.reserve(payload.size() + 14);
  frame += static_cast<char>(final_bit | static_cast<unsigned char>(kind));
  if (payload.size() <= longest_short) {
    frame += static_cast<char>(mask_bit | static_cast<unsigned char>(payload.size()));
  } else if (payload.size() <= 0xffff) {
    frame += static_cast<char>(mask_bit | two_bytes);
    put_number(frame, payload.size(), 2);
  } else {
    frame += static_cast<char>(mask_bit | eight_bytes);
    put_number(frame, payload.size(), 8);
  }
  frame.append(mask.data(), mask.size());
  const std::size_t from = frame.size();
  frame += payload;
  for (std::size_t i = 0; i < payload.size(); ++i)
    frame[from + i] = static_cast<char>(frame[from + i] ^ mask[i % mask.size()]);
  return frame;
}

std::uint16_t close_code_of(std::string_view payload) {
  return payload.size() < 2 ? no_close_code : static_cast<std::uint16_t>(number_at(payload, 0, 2));
}

Result<std::optional<ServerFrames::Head>> ServerFrames::read_head() const {
  if (unread_.size() < 2) return std::nullopt;
  const auto first = static_cast<unsigned char>(unread_[0]);
  const auto second = static_cast<unsigned char>(unread_[1]);
  if ((first & reserved_bits) != 0) return violation("reserved bits are set");
  if (!is_known(first & 0x0f)) return violation("unknown kind " + std::to_string(first & 0x0f));
  if ((second & mask_bit) != 0) return violation("a server masks nothing");
  Head head;
  head.is_last = (first & final_bit) != 0;
  head.kind = static_cast<FrameKind>(first & 0x0f);
  head.size = second & 0x7fU;
  head.length = 2;
  const std::size_t more = head.size == two_bytes ? 2 : head.size == eight_bytes ? 8 : 0;
  if (more > 0) {
    if (unread_.size() < 2 + more) return std::nullopt;
    head.size = number_at(unread_, 2, more);
    head.length += more;
    const std::uint64_t least = more == 2 ? longest_short + 1 : 0x10000;
    if (head.size < least) return violation("a length is longer than it has to be");
  }
  return head;
}

Status ServerFrames::check(const Head& head) const {
  if (is_control(head.kind)) {
    if (head.size > longest_short || !head.is_last) return violation("a control frame is too long or in pieces");
    if (head.kind == FrameKind::close && head.size == 1) return violation("half a close code");
    return {};
  }
  if ((head.kind == FrameKind::continuation) != message_.has_value())
    return violation(message_ ? "a message within a message" : "a piece of no message");
  if (head.size > largest_.count - collected_.size()) {
    return fail(ErrorCode::limit_reached,
                "WebSocket message of more than " + std::to_string(largest_.count) + " bytes");
  }
  return {};
}

Result<std::optional<ServerFrame>> ServerFrames::next() {
  for (;;) {
    CLOCHE_TRY(const auto head, read_head());
    if (!head) return std::nullopt;
    CLOCHE_CHECK(check(*head));
    if (unread_.size() - head->length < head->size) return std::nullopt;
    ServerFrame frame;
    frame.kind = head->kind;
    frame.payload = unread_.substr(head->length, head->size);
    unread_.erase(0, head->length + head->size);
    if (is_control(frame.kind)) return frame;
    if (head->kind != FrameKind::continuation) message_ = head->kind;
    if (collected_.empty()) {
      collected_ = std::move(frame.payload);
    } else {
      collected_ += frame.payload;
    }
    if (!head->is_last) continue;
    frame.kind = *message_;
    frame.payload = std::move(collected_);
    message_.reset();
    collected_.clear();
    return frame;
  }
}

}  // namespace cloche::http
