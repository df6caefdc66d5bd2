#include "http/server/request/body_decoder.hpp"

#include <algorithm>

#include "http/server/request/hex_digit.hpp"

namespace cloche::http {

namespace {

constexpr std::size_t longest_size_line = 256;  // extensions are ignored
constexpr std::size_t longest_trailers = 8 << 10;
// Framing costs more to read than content. Beyond this much of it, there must be more content than framing.
constexpr std::uint64_t free_framing = 256 << 10;
constexpr std::uint64_t largest_chunk = std::uint64_t{1} << 60;

bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t') || code == 0x7f;
}

}  // namespace

BodyDecoder::BodyDecoder(const Framing& framing) : state_(State::done) {
  if (framing.chunked) {
    state_ = State::size_first_digit;
  } else if (framing.length.value_or(0) > 0) {
    state_ = State::plain;
    left_ = *framing.length;
  }
}

std::optional<std::uint64_t> BodyDecoder::left() const {
  if (state_ == State::done) return 0;
  if (state_ == State::plain) return left_;
  return std::nullopt;
}

OrRequestError<std::size_t> BodyDecoder::feed(std::string_view bytes, std::string& into, std::size_t most) {
  const std::size_t had = into.size();
  std::size_t used = 0;
  while (used < bytes.size() && state_ != State::done) {
    if (state_ == State::plain || state_ == State::data) {
      const std::size_t room = most - (into.size() - had);
      const std::size_t count = std::min<std::uint64_t>({left_, bytes.size() - used, room});
      if (count == 0) break;
      into.append(bytes.substr(used, count));
      used += count;
      left_ -= count;
      content_ += count;
      if (left_ == 0) state_ = state_ == State::plain ? State::done : State::data_return;
    } else {
      auto taken = take_framing(bytes[used]);
      if (!taken) return std::unexpected(std::move(taken).error());
      ++used;
      ++framing_;
    }
  }
  if (framing_ > free_framing && framing_ > content_) return refuse(400, "the chunks of the body are too small");
  return used;
}

OrRequestError<void> BodyDecoder::take_framing(char c) {
  switch (state_) {
    case State::size_first_digit:
    case State::size: return take_size(c);
    case State::extension:
      if (c == '\r') {
        state_ = State::size_line_feed;
      } else if (is_control(c) || ++line_length_ > longest_size_line) {
        return refuse(400, "invalid chunk extension");
      }
      return {};
    case State::size_line_feed:
      if (c != '\n') return refuse(400, "unexpected characters after the chunk size");
      state_ = left_ > 0 ? State::data : State::trailer;
      return {};
    case State::data_return:
      if (c != '\r') return refuse(400, "chunk longer than its size");
      state_ = State::data_line_feed;
      return {};
    case State::data_line_feed:
      if (c != '\n') return refuse(400, "chunk longer than its size");
      state_ = State::size_first_digit;
      return {};
    case State::trailer:
      if (c == '\r') {
        state_ = State::trailer_line_feed;
      } else if (is_control(c) || ++trailers_size_ > longest_trailers) {
        return refuse(400, "trailers are too long or contain control characters");
      } else {
        trailer_ += c;
      }
      return {};
    case State::trailer_line_feed:
      if (c != '\n') return refuse(400, "carriage return without line feed");
      return end_trailer();
    case State::plain:
    case State::data:
    case State::done: break;
  }
  return {};
}

OrRequestError<void> BodyDecoder::take_size(char c) {
  const int digit = hex_value(c);
  if (state_ == State::size_first_digit) {
    if (digit < 0) return refuse(400, "missing chunk size");
    left_ = 0;
    line_length_ = 0;
    state_ = State::size;
  }
  if (digit >= 0) {
    left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
    if (++line_length_ > 16 || left_ > largest_chunk) return refuse(400, "chunk size too large");
  } else if (c == '\r') {
    state_ = State::size_line_feed;
  } else if (c == ';') {
    state_ = State::extension;
  } else {
    return refuse(400, "invalid chunk size");
  }
  return {};
}

OrRequestError<void> BodyDecoder::end_trailer() {
  if (trailer_.empty()) {
    state_ = State::done;
    return {};
  }
  if (auto field = parse_field(trailer_); !field) return std::unexpected(std::move(field).error());
  trailer_.clear();
  state_ = State::trailer;
  return {};
}

}  // namespace cloche::http
