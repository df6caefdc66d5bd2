#include "backend/e2b/api/program_stream.hpp"

namespace cloche::e2b {

namespace {

// Services send at most 32 KiB of output in a message, as base64.
constexpr std::size_t longest_event = 1 << 20;

}  // namespace

ProgramStream::ProgramStream(std::unique_ptr<http::ResponseStream> body)
    : body_(std::move(body)), reader_(connect::Sender::server, longest_event) {}

Task<Result<ProgramEvent>> ProgramStream::next(Deadline deadline) {
  for (;;) {
    CLOCHE_CO_TRY(const auto envelope, reader_.next());
    if (envelope && envelope->is_last) {
      CLOCHE_CO_CHECK(read_end(envelope->message));
      co_return fail(ErrorCode::unavailable, "the stream of a program ended before the program");
    }
    if (envelope) {
      CLOCHE_CO_TRY(ProgramEvent event, read_event(envelope->message));
      if (!std::holds_alternative<KeepAlive>(event)) co_return event;
      continue;
    }
    CLOCHE_CO_TRY(const std::string piece, co_await body_->next(deadline));
    if (piece.empty()) co_return fail(ErrorCode::unavailable, "the stream of a program broke off");
    reader_.feed(piece);
  }
}

}  // namespace cloche::e2b
