#include "backend/kubernetes/exec_channel.hpp"

#include <algorithm>

#include "backend/kubernetes/api/status.hpp"
#include "core/log.hpp"

namespace cloche::kubernetes {

namespace {

using namespace std::chrono_literals;

constexpr char to_stdin = 0;
constexpr char of_stdout = 1;
constexpr char of_stderr = 2;
constexpr char of_status = 3;
constexpr char end_of_channel = '\xff';

// Servers reset or lose streams with larger messages. With its channel's byte, a piece has a length of 16 bits.
constexpr std::size_t largest_piece = 64 * 1024 - 2;
// A relay that reads nothing for so long has lost its connection.
constexpr auto longest_write = 30s;

}  // namespace

ExecChannel::ExecChannel(std::unique_ptr<http::ClientWebSocket> socket, std::string sandbox)
    : socket_(std::move(socket)), sandbox_(std::move(sandbox)) {}

Result<bool> ExecChannel::take(std::string message) {
  if (message.empty()) return true;
  switch (message.front()) {
    case of_stdout:
      unread_ = std::move(message);
      taken_ = 1;
      return true;
    case of_stderr:
      for (const std::string& line : log_.take(std::string_view(message).substr(1), AgentLog::Clock::now()))
        log::warn("sandbox {}: relay: {}", sandbox_, line);
      return true;
    case of_status: {
      // Success means nothing. A failure is of use to people: why the program could not be started.
      const auto status = json::parse(std::string_view(message).substr(1));
      if (status && json::text(json::find(*status, "status")) == "Failure") return fail(error_of("exec", *status));
      return message.size() == 1;
    }
    case end_of_channel: {
      const bool is_output = message.size() == 2 && message[1] == of_stdout;
      return !is_output;
    }
    default: return fail(ErrorCode::protocol, "invalid message of an exec stream");
  }
}

Task<Result<std::size_t>> ExecChannel::read_some(std::span<char> into) {
  while (taken_ >= unread_.size()) {
    if (has_ended_) co_return std::size_t{0};
    auto message = co_await socket_->read(Deadline::never());
    if (!message) co_return fail(std::move(message).error().at("sandbox " + sandbox_));
    if (!*message) {
      has_ended_ = true;
      continue;
    }
    const auto continues = take(std::move(**message));
    if (!continues) co_return fail(continues.error().at("sandbox " + sandbox_));
    if (!*continues) has_ended_ = true;
  }
  const std::size_t count = std::min(into.size(), unread_.size() - taken_);
  std::copy_n(unread_.begin() + static_cast<std::ptrdiff_t>(taken_), count, into.begin());
  taken_ += count;
  co_return count;
}

Task<Status> ExecChannel::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, largest_piece);
    std::string message(1, to_stdin);
    message += piece;
    auto sent = co_await socket_->write(message, Deadline::after(longest_write));
    if (!sent) co_return fail(std::move(sent).error().at("sandbox " + sandbox_));
    bytes.remove_prefix(piece.size());
  }
  co_return Status{};
}

}  // namespace cloche::kubernetes
