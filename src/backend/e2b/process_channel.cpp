#include "backend/e2b/process_channel.hpp"

#include <algorithm>

#include "core/async/first_of.hpp"
#include "core/log.hpp"

namespace cloche::e2b {

namespace {

using namespace std::chrono_literals;

// As much as a ResumableChannel writes at once. Each call costs a round trip, whatever its size.
constexpr std::size_t largest_piece = 256 * 1024;
// A relay that reads nothing for so long has lost its connection.
constexpr auto longest_write = 30s;

}  // namespace

ProcessChannel::ProcessChannel(const Executor& executor, std::shared_ptr<DataPlane> plane, DataPlane::Started program,
                               std::string sandbox)
    : plane_(std::move(plane)), program_(std::move(program)), sandbox_(std::move(sandbox)), closed_(executor) {}

Task<Result<std::size_t>> ProcessChannel::read_some(std::span<char> into) {
  while (taken_ == unread_.size()) {
    if (has_ended_) co_return std::size_t{0};
    if (is_closed_) co_return fail(ErrorCode::cancelled, "sandbox " + sandbox_ + ": the connection was closed");
    auto event = co_await program_.events->next(Deadline::never());
    if (!event) co_return fail(std::move(event).error().at("sandbox " + sandbox_));
    if (std::holds_alternative<ProgramEnded>(*event)) {
      has_ended_ = true;
    } else if (auto* output = std::get_if<ProgramOutput>(&*event)) {
      if (output->is_error_output) {
        for (const std::string& line : log_.take(output->bytes, AgentLog::Clock::now()))
          log::warn("sandbox {}: relay: {}", sandbox_, line);
      } else {
        unread_ = std::move(output->bytes);
        taken_ = 0;
      }
    }
  }
  const std::size_t count = std::min(into.size(), unread_.size() - taken_);
  std::copy_n(unread_.begin() + static_cast<std::ptrdiff_t>(taken_), count, into.begin());
  taken_ += count;
  co_return count;
}

Task<Status> ProcessChannel::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    if (is_closed_) co_return fail(ErrorCode::cancelled, "sandbox " + sandbox_ + ": the connection was closed");
    const std::string_view piece = bytes.substr(0, largest_piece);
    auto sent =
        co_await first_of(plane_->send_input(program_.pid, piece, Deadline::after(longest_write)), closed_.wait());
    if (sent.index() == 1) continue;  // it was closed
    Status status = std::get<0>(std::move(sent));
    if (!status) co_return fail(std::move(status).error().at("sandbox " + sandbox_));
    bytes.remove_prefix(piece.size());
  }
  co_return Status{};
}

void ProcessChannel::close() {
  is_closed_ = true;
  program_.events->close();
  closed_.notify();
}

}  // namespace cloche::e2b
