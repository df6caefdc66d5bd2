#include "relay/side.hpp"

#include <algorithm>

namespace cloche::relay {

std::uint64_t Side::start_connection() {
  in_.forget();
  announced_ = consumed();
  return announced_;
}

Status Side::continue_at(std::uint64_t offset) {
  if (!can_continue_at(offset)) {
    return fail(ErrorCode::protocol, "cannot continue at byte " + std::to_string(offset) + " of " +
                                         std::to_string(out_.begin()) + " to " + std::to_string(most_sent_));
  }
  CLOCHE_CHECK(out_.release_to(offset));
  sent_ = offset;
  return {};
}

Status Side::take(const Frame& frame) {
  if (frame.type == FrameType::ack) {
    if (frame.consumed > sent_) {
      return fail(ErrorCode::protocol, "acknowledgement of byte " + std::to_string(frame.consumed) + ", but only " +
                                           std::to_string(sent_) + " were sent");
    }
    return out_.release_to(frame.consumed);
  }
  if (frame.type != FrameType::data) return fail(ErrorCode::protocol, "unexpected relay frame");
  if (frame.payload.size() > window_ - (in_.end() - announced_)) {
    return fail(ErrorCode::protocol, "more data than " + std::to_string(window_) + " unacknowledged bytes");
  }
  in_.append(frame.payload);
  return {};
}

void Side::append_data_to(std::string& out, std::size_t most) {
  while (most > 0 && has_data_to_send()) {
    const std::string_view payload = out_.from(sent_, std::min(most, max_payload));
    append_data(out, payload);
    sent_ += payload.size();
    most -= payload.size();
  }
  most_sent_ = std::max(most_sent_, sent_);
}

void Side::append_ack_to(std::string& out) {
  announced_ = consumed();
  append_ack(out, announced_);
}

}  // namespace cloche::relay
