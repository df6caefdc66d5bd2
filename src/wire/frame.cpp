#include "wire/frame.hpp"

#include <algorithm>
#include <cassert>

namespace cloche::wire {

namespace {

constexpr unsigned char magic = 0xc1;
constexpr unsigned char seal = 0xa5;
constexpr unsigned char flag_more = 1;

void put_u32(char* at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

void put_header(char* at, const Frame& frame) {
  at[0] = static_cast<char>(frame.type);
  at[1] = static_cast<char>(frame.lane);
  at[2] = static_cast<char>(frame.more ? flag_more : 0);
  at[3] = static_cast<char>(magic);
  put_u32(at + 4, frame.stream);
  put_u32(at + 8, static_cast<std::uint32_t>(frame.payload.size()));
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
  char header[header_size];
  put_header(header, frame);
  out.append(header, header_size);
  out += frame.payload;
  out += static_cast<char>(seal);
}

std::size_t enclose_payload(char* at, FrameType type, std::uint8_t lane, StreamId stream, std::size_t size) {
  assert(size <= max_payload);
  put_header(at, {.type = type, .lane = lane, .stream = stream, .payload = {at + header_size, size}});
  at[header_size + size] = static_cast<char>(seal);
  return header_size + size + seal_size;
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
  std::ranges::copy(bytes, room(bytes.size()).begin());
  fed(bytes.size());
}

std::span<char> FrameDecoder::room(std::size_t size) {
  if (position_ == end_) position_ = end_ = 0;
  if (capacity_ - end_ < size) {
    // Room for the rest of a frame too, so that one that comes in many pieces is rarely moved.
    const std::size_t wanted = buffered() + size + 2 * (header_size + max_payload + seal_size);
    std::unique_ptr<char[]> larger;
    if (capacity_ < wanted) larger = std::make_unique_for_overwrite<char[]>(wanted);
    std::copy(buffer_.get() + position_, buffer_.get() + end_, larger ? larger.get() : buffer_.get());
    if (larger) {
      buffer_ = std::move(larger);
      capacity_ = wanted;
    }
    end_ = buffered();
    position_ = 0;
  }
  return {buffer_.get() + end_, size};
}

Result<std::optional<Frame>> FrameDecoder::next() {
  for (;;) {
    while (position_ < end_ && buffer_[position_] == '\0') ++position_;
    const char* at = buffer_.get() + position_;
    const std::size_t have = buffered();
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
