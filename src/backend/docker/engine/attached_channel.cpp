#include "backend/docker/engine/attached_channel.hpp"

#include <algorithm>

#include "core/log.hpp"

namespace cloche::docker {

namespace {

constexpr std::size_t buffer_size = 64 << 10;

}  // namespace

AttachedChannel::AttachedChannel(http::Upgrade attached, std::string sandbox)
    : stream_(std::move(attached.stream)), sandbox_(std::move(sandbox)), buffer_(std::move(attached.read_ahead)) {
  unread_ = buffer_;
}

Task<Result<std::size_t>> AttachedChannel::read_some(std::span<char> into) {
  for (;;) {
    auto taken = take_buffered(into);
    if (!taken || *taken > 0) {
      has_ended_ = has_ended_ || !taken;
      co_return taken;
    }
    buffer_.resize(std::max(buffer_.size(), buffer_size));
    const std::span<char> room(buffer_.data(), buffer_.size());
    auto count = co_await stream_->read_some(room, Deadline::never());
    if (!count || *count == 0) has_ended_ = true;
    if (!count) co_return fail(std::move(count).error().at("sandbox " + sandbox_));
    if (*count == 0 && !demultiplexer_.is_between_pieces()) {
      co_return fail(ErrorCode::unavailable, "sandbox " + sandbox_ + ": the engine closed the attached stream");
    }
    if (*count == 0) co_return std::size_t{0};
    unread_ = std::string_view(buffer_).substr(0, *count);
  }
}

// Takes what was read already; 0 when nothing of it is left.
Result<std::size_t> AttachedChannel::take_buffered(std::span<char> into) {
  while (piece_.empty()) {
    auto next = demultiplexer_.next(unread_);
    if (!next) return fail(std::move(next).error().at("sandbox " + sandbox_));
    if (!*next) return 0;
    if ((*next)->stream == Stream::out) {
      piece_ = (*next)->bytes;
    } else {
      log_stderr((*next)->bytes);
    }
  }
  const std::size_t count = std::min(into.size(), piece_.size());
  std::copy_n(piece_.begin(), count, into.begin());
  piece_.remove_prefix(count);
  return count;
}

void AttachedChannel::log_stderr(std::string_view bytes) {
  for (const auto& line : agent_log_.take(bytes, AgentLog::Clock::now()))
    log::warn("sandbox {}: agent: {}", sandbox_, line);
}

Task<Status> AttachedChannel::write_all(std::string_view bytes) {
  auto written = co_await stream_->write_all(bytes, Deadline::never());
  if (!written) co_return fail(std::move(written).error().at("sandbox " + sandbox_));
  co_return Status{};
}

void AttachedChannel::close() { stream_->close(); }

}  // namespace cloche::docker
