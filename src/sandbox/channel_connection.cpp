#include "sandbox/channel_connection.hpp"

#include <utility>

namespace cloche {

Task<Result<std::string>> ChannelConnection::read(Deadline deadline) {
  while (!ended_ && !has_unread()) {
    auto event = co_await stream_->next(deadline);
    if (!event) co_return fail(std::move(event).error());
    take_event(std::move(*event));
  }
  unread_.erase(0, std::exchange(used_, 0));
  co_return std::exchange(unread_, {});
}

Task<Result<std::size_t>> ChannelConnection::read_into(std::span<char> into, Deadline deadline) {
  std::size_t count = take_unread(into);
  for (; count < into.size() && !ended_; count += take_unread(into.subspan(count))) {
    if (auto ready = stream_->next_if_ready()) {
      take_event(std::move(*ready));
    } else if (count > 0) {
      break;
    } else {
      auto event = co_await stream_->next(deadline);
      if (!event) co_return fail(std::move(event).error());
      take_event(std::move(*event));
    }
  }
  co_return count;
}

Task<Status> ChannelConnection::write_view(std::string_view bytes, Deadline deadline) {
  CLOCHE_CO_CHECK(co_await stream_->send_view(wire::lane::in, bytes, deadline));
  // What is sent to a program that is gone is dropped: a server that sends without end would never know.
  while (ended_ && !closed_) {
    auto event = stream_->next_if_ready();
    if (!event) break;
    take_event(std::move(*event));
  }
  if (closed_) co_return fail(ErrorCode::unavailable, "write: the program is gone");
  co_return Status{};
}

std::size_t ChannelConnection::take_unread(std::span<char> into) {
  const std::size_t count = std::string_view(unread_).substr(used_).copy(into.data(), into.size());
  used_ += count;
  // An idle connection keeps no memory.
  if (used_ == unread_.size()) {
    unread_ = {};
    used_ = 0;
  }
  return count;
}

void ChannelConnection::take_event(StreamEvent event) {
  if (auto* data = std::get_if<StreamData>(&event)) {
    unread_ = std::move(data->bytes);
    used_ = 0;
  } else if (!std::holds_alternative<StreamMessage>(event)) {
    ended_ = true;
    closed_ = std::holds_alternative<StreamClosed>(event);
  }
}

}  // namespace cloche
