#include "http/server/request/body_reader.hpp"

namespace cloche::http {

namespace {

// How often it is looked whether others need what a slow body holds.
constexpr std::chrono::milliseconds check_interval{500};
constexpr std::size_t kept_of_body = 64 << 10;

}  // namespace

BodyReader::BodyReader(ClientStream& client_stream, const RequestHead& head, BodyShare& share)
    : client_stream_(client_stream),
      share_(share),
      decoder_(head.framing),
      expects_continue_(head.expects_continue),
      most_(client_stream.limits().body) {}

Status BodyReader::hold_all() {
  if (error_) return fail(*error_);
  holds_chunks_ = !decoder_.left();
  if (holds_chunks_) return {};
  if (*decoder_.left() > most_.count) return too_long();
  auto refusal = share_.take(*decoder_.left());
  if (refusal) return give_up(ErrorCode::limit_reached, refusal->status, refusal->why);
  return {};
}

Task<Result<std::string>> BodyReader::read_some() {
  if (error_) co_return fail(*error_);
  if (decoder_.done()) co_return std::string();
  if (decoder_.left().value_or(0) > most_.count - std::min(received_, most_.count)) {
    co_return too_long();
  }
  client_stream_.inflow().keep(kept_of_body);
  CLOCHE_CO_CHECK(co_await ask_to_continue());
  CLOCHE_CO_TRY(std::string piece, co_await next_piece());
  received_ += piece.size();
  if (received_ > most_.count) co_return too_long();
  if (holds_chunks_) {
    auto refusal = share_.take(piece.size());
    if (refusal) co_return give_up(ErrorCode::limit_reached, refusal->status, refusal->why);
  }
  note_progress();
  co_return piece;
}

Task<Result<std::string>> BodyReader::read_all() {
  CLOCHE_CO_CHECK(hold_all());
  std::string body;
  for (;;) {
    CLOCHE_CO_TRY(const std::string piece, co_await read_some());
    if (piece.empty()) co_return body;
    body += piece;
  }
}

Task<Status> BodyReader::ask_to_continue() {
  const bool first = !asked_;
  asked_ = true;
  if (!first || !expects_continue_ || !client_stream_.inflow().bytes().empty()) co_return Status{};
  const std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  co_return co_await client_stream_.write(go_on);
}

Task<Result<std::string>> BodyReader::next_piece() {
  constexpr std::size_t largest_piece = 64 << 10;
  Inflow& inflow = client_stream_.inflow();
  std::string piece;
  for (;;) {
    auto used = decoder_.feed(inflow.bytes(), piece, largest_piece);
    if (!used) co_return give_up(ErrorCode::protocol, used.error().status, used.error().why);
    inflow.consume(*used);
    if (!piece.empty() || decoder_.done()) co_return piece;
    if (inflow.ended())
      co_return give_up(ErrorCode::unavailable, 400, "the client disconnected in the middle of the body");
    if (waited_ >= window()) co_return give_up(ErrorCode::timeout, 408, "the body arrives too slowly");
    const auto before = Deadline::Clock::now();
    Deadline deadline = Deadline::after(window() - waited_);
    if (share_.holds_any()) deadline = deadline.sooner(Deadline::after(check_interval));
    co_await inflow.wait(deadline);
    waited_ += Deadline::Clock::now() - before;
  }
}

Deadline::Clock::duration BodyReader::window() const {
  return share_.under_pressure() ? client_stream_.limits().pressed_window : client_stream_.limits().body_window;
}

void BodyReader::note_progress() {
  const bool pressed = share_.under_pressure();
  const std::uint64_t rate = (pressed ? client_stream_.limits().pressed_rate : client_stream_.limits().body_rate).count;
  const auto asked = std::chrono::duration<double>(window()).count() * static_cast<double>(rate);
  if (static_cast<double>(received_ - window_began_) < asked) return;
  window_began_ = received_;
  waited_ = {};
}

std::unexpected<Error> BodyReader::give_up(ErrorCode code, unsigned status, std::string why) {
  refusal_ = RequestError{status, why};
  error_ = Error{code, "read body: " + std::move(why)};
  return fail(*error_);
}

bool BodyReader::can_be_drained() const {
  if (decoder_.done()) return true;
  // A client that still waits for 100 may send its body or not: what comes next could be either.
  if (error_ || (expects_continue_ && !asked_)) return false;
  return decoder_.left().value_or(0) <= client_stream_.limits().drained.count;
}

Task<bool> BodyReader::drain() {
  if (!can_be_drained()) co_return false;
  Inflow& inflow = client_stream_.inflow();
  const Deadline deadline = Deadline::after(client_stream_.limits().linger);
  std::string dropped;
  for (std::uint64_t most = client_stream_.limits().drained.count;; most -= dropped.size()) {
    dropped.clear();
    auto used = decoder_.feed(inflow.bytes(), dropped, most);
    if (!used) co_return false;
    inflow.consume(*used);
    if (decoder_.done()) co_return true;
    if (inflow.ended() || dropped.size() == most || deadline.passed()) co_return false;
    co_await inflow.wait(deadline);
  }
}

}  // namespace cloche::http
