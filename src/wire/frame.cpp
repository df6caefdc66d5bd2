#include "wire/frame.hpp"

#include <cassert>

namespace cloche::wire {

namespace {

constexpr unsigned char magic = 0xc1;
constexpr unsigned char seal = 0xa5;
constexpr unsigned char flag_more = 1;

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
}

std::uint32_t get_u32(const char* at) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(at[i]);
  return value;
}

}  // namespace

void append_frame(std::string& out, const Frame& frame) {
  assert(frame.payload.size() <= max_payload);
  out.reserve(out.size() + header_size + frame.payload.size() + seal_size);
  out += static_cast<char>(frame.type);
  out += static_cast<char>(frame.lane);
  out += static_cast<char>(frame.more ? flag_more : 0);
  out += static_cast<char>(magic);
  put_u32(out, frame.stream);
  put_u32(out, static_cast<std::uint32_t>(frame.payload.size()));
  out += frame.payload;
  out += static_cast<char>(seal);
}

void append_message(std::string& out, FrameType type, StreamId stream, std::string_view message) {
  assert(message.size() <= max_message);
  do {
    const auto part = message.substr(0, max_payload);
    message.remove_prefix(part.size());
    append_frame(out, {.type = type, .more = !message.empty(), .stream = stream, .payload = part});
  } while (!message.empty());
}

std::string resync_padding() { return std::string(header_size + max_payload + seal_size, '\0'); }

void FrameDecoder::feed(std::string_view bytes) {
  if (position_ == buffer_.size()) {
    buffer_.clear();
    position_ = 0;
  } else if (position_ > max_payload) {
    buffer_.erase(0, position_);
    position_ = 0;
  }
  buffer_.append(bytes);
}

Result<std::optional<Frame>> FrameDecoder::next() {
  for (;;) {
    while (position_ < buffer_.size() && buffer_[position_] == '\0') ++position_;
    const char* at = buffer_.data() + position_;
    const std::size_t have = buffer_.size() - position_;
    // The mark is checked as soon as it is there, so that garbage is refused promptly.
    if (have >= 4 && static_cast<unsigned char>(at[3]) != magic) {
      // A header that was cut off before its mark and completed by zeros.
      if (on_broken_seal_ == OnBrokenSeal::drop && at[3] == '\0') {
        ++position_;
        continue;
      }
      return fail(ErrorCode::protocol, "frame without its magic byte");
    }
    if (have < header_size) return std::nullopt;
    const auto type = static_cast<unsigned char>(at[0]);
    const auto lane = static_cast<unsigned char>(at[1]);
    const auto flags = static_cast<unsigned char>(at[2]);
    const std::uint32_t length = get_u32(at + 8);
    if (type > static_cast<unsigned char>(FrameType::pong)) {
      return fail(ErrorCode::protocol, "frame of unknown type " + std::to_string(type));
    }
    if (lane >= lane::count) return fail(ErrorCode::protocol, "frame for unknown lane " + std::to_string(lane));
    if ((flags & ~flag_more) != 0) return fail(ErrorCode::protocol, "frame with unknown flags");
    if (length > max_payload)
      return fail(ErrorCode::protocol, "frame of " + std::to_string(length) + " bytes is too long");
    const std::size_t whole = header_size + length + seal_size;
    if (have < whole) return std::nullopt;
    position_ += whole;
    if (static_cast<unsigned char>(at[whole - 1]) != seal) {
      if (on_broken_seal_ == OnBrokenSeal::drop) continue;
      return fail(ErrorCode::protocol, "frame with a wrong end byte");
    }
    return Frame{.type = static_cast<FrameType>(type),
                 .lane = lane,
                 .more = (flags & flag_more) != 0,
                 .stream = get_u32(at + 4),
                 .payload = {at + header_size, length}};
  }
}

std::optional<Frame> whole_frame_at(std::string_view bytes) {
  if (bytes.size() < header_size + seal_size || static_cast<unsigned char>(bytes[3]) != magic) return std::nullopt;
  const auto type = static_cast<unsigned char>(bytes[0]);
  const auto lane = static_cast<unsigned char>(bytes[1]);
  const auto flags = static_cast<unsigned char>(bytes[2]);
  const std::uint32_t length = get_u32(bytes.data() + 8);
  if (type == 0 || type > static_cast<unsigned char>(FrameType::pong) || lane >= lane::count) return std::nullopt;
  if ((flags & ~flag_more) != 0 || length > bytes.size() - header_size - seal_size) return std::nullopt;
  if (static_cast<unsigned char>(bytes[header_size + length]) != seal) return std::nullopt;
  return Frame{.type = static_cast<FrameType>(type),
               .lane = lane,
               .more = (flags & flag_more) != 0,
               .stream = get_u32(bytes.data() + 4),
               .payload = bytes.substr(header_size, length)};
}

Result<std::optional<std::string_view>> MessageAssembler::add(const Frame& frame) {
  if (joined_) {
    parts_.clear();
    joined_ = false;
  }
  if (parts_.empty() && !frame.more) return frame.payload;
  if (parts_.size() + frame.payload.size() > max_message) return fail(ErrorCode::protocol, "message is too long");
  parts_.append(frame.payload);
  if (frame.more) return std::nullopt;
  joined_ = true;
  return parts_;
}

}  // namespace cloche::wire
