#include "http/connection.hpp"

#include <fmt/format.h>

namespace cloche::http {

namespace {

constexpr std::size_t read_size = 64 << 10;
constexpr int most_informational = 8;

Deadline step_deadline(const Request& request, Deadline deadline) {
  return deadline.sooner(Deadline::after(request.patience));
}

}  // namespace

Task<Status> Connection::write(const Request& request, std::string head, Deadline deadline) {
  has_answered_ = false;
  // A small body is sent with its head: one packet, one wake-up.
  constexpr std::size_t small = 16 << 10;
  const bool together = !request.source && request.body.size() <= small;
  if (together) head += request.body;
  auto written = co_await stream_->write_all(head, step_deadline(request, deadline));
  if (written && !together) written = co_await write_body(request, deadline);
  if (written || written.error().code != ErrorCode::unavailable) co_return written;
  // The server hung up on the body. It may have said why before.
  const Deadline soon = deadline.sooner(Deadline::after(std::chrono::seconds(2)));
  auto more = co_await read_more(request, soon);
  if (more && *more > 0) co_return Status{};
  co_return written;
}

Task<Status> Connection::write_body(const Request& request, Deadline deadline) {
  if (!request.source) {
    constexpr std::size_t piece = 256 << 10;
    for (std::size_t sent = 0; sent < request.body.size(); sent += piece) {
      const auto part = std::string_view(request.body).substr(sent, piece);
      CLOCHE_CO_CHECK(co_await stream_->write_all(part, step_deadline(request, deadline)));
    }
    co_return Status{};
  }
  for (;;) {
    CLOCHE_CO_TRY(std::string piece, co_await request.source());
    if (piece.empty()) break;
    piece.insert(0, fmt::format("{:x}\r\n", piece.size())).append("\r\n");
    CLOCHE_CO_CHECK(co_await stream_->write_all(piece, step_deadline(request, deadline)));
  }
  const std::string_view end = "0\r\n\r\n";
  co_return co_await stream_->write_all(end, step_deadline(request, deadline));
}

Task<Result<std::size_t>> Connection::read_more(const Request& request, Deadline deadline) {
  const std::size_t had = unread_.size();
  unread_.resize(had + read_size);
  const std::span<char> room(unread_.data() + had, read_size);
  auto count = co_await stream_->read_some(room, step_deadline(request, deadline));
  unread_.resize(had + (count ? *count : 0));
  if (count && *count > 0) has_answered_ = true;
  co_return count;
}

Task<Result<std::unique_ptr<ResponseReader>>> Connection::read_head(const Request& request, Deadline deadline) {
  ReaderLimits limits;
  limits.body = request.body_limit;
  const BodyRule rule = request.method == "HEAD" ? BodyRule::none : BodyRule::as_announced;
  for (int informational = 0; informational < most_informational; ++informational) {
    auto reader = std::make_unique<ResponseReader>(limits, rule);
    for (;;) {
      CLOCHE_CO_TRY(const std::size_t used, reader->feed(unread_));
      unread_.erase(0, used);
      if (reader->head_done()) break;
      CLOCHE_CO_TRY(const std::size_t count, co_await read_more(request, deadline));
      if (count == 0) {
        CLOCHE_CO_CHECK(reader->end_of_stream());
        co_return fail(ErrorCode::unavailable, "the server closed the connection in the middle of its response");
      }
    }
    const unsigned status = reader->head().status;
    if (status >= 200 || status == 101) co_return reader;
  }
  co_return fail(ErrorCode::protocol, "the server sends too many informational responses");
}

Task<Result<std::string>> Connection::read_piece(ResponseReader& reader, const Request& request, Deadline deadline) {
  // Only what cannot be used yet stays in `unread_`: the line before a chunk, or what follows the last one.
  constexpr std::size_t longest_line = 32 << 10;
  while (!reader.done()) {
    CLOCHE_CO_TRY(const std::size_t used, reader.feed(unread_));
    unread_.erase(0, used);
    std::string piece = reader.take_body();
    if (!piece.empty()) co_return piece;
    if (reader.done()) break;
    if (unread_.size() > longest_line) co_return fail(ErrorCode::limit_reached, "read response: chunk line too long");
    CLOCHE_CO_TRY(const std::size_t count, co_await read_more(request, deadline));
    if (count == 0) {
      CLOCHE_CO_CHECK(reader.end_of_stream());
      break;
    }
  }
  co_return std::string();
}

Task<Status> Connection::read_body(ResponseReader& reader, const Request& request, const BodySink& sink,
                                   Deadline deadline) {
  for (;;) {
    CLOCHE_CO_TRY(const std::string piece, co_await read_piece(reader, request, deadline));
    if (piece.empty()) co_return Status{};
    CLOCHE_CO_CHECK(co_await sink(piece));
  }
}

}  // namespace cloche::http
