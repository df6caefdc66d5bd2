#include "http/server/answer/event_stream.hpp"

#include <variant>

#include "core/async/first_of.hpp"
#include "core/async/shielded.hpp"

namespace cloche::http {

Task<Status> EventStream::send(ServerEvent event) {
  CLOCHE_CO_TRY(std::string bytes, serialise_event(event));
  co_return co_await write(std::move(bytes));
}

Task<Status> EventStream::write(std::string bytes) {
  while (writing_) co_await free_.wait();
  struct Turn {
    explicit Turn(EventStream& s) : stream(s) { stream.writing_ = true; }
    ~Turn() {
      stream.writing_ = false;
      ++stream.sent_;
      stream.free_.notify();
    }
    EventStream& stream;
  } const turn(*this);
  co_return co_await exchange_.write(bytes);
}

Task<> EventStream::beat(std::chrono::steady_clock::duration every) {
  for (;;) {
    const std::uint64_t sent = sent_;
    co_await pause_for(every);
    if (sent_ != sent || writing_) continue;
    // To its end, or the rest of the stream could not be read any more.
    auto work = [this] { return write(std::string(heartbeat)); };
    co_await shielded(std::move(work));
  }
}

Task<Status> serve_events(Exchange& exchange, std::function<Task<Status>(EventStream&)> body,
                          std::chrono::steady_clock::duration heartbeat_every) {
  Fields fields;
  fields.emplace_back("Content-Type", "text/event-stream");
  fields.emplace_back("Cache-Control", "no-store");
  fields.emplace_back("X-Accel-Buffering", "no");
  CLOCHE_CO_CHECK(co_await exchange.begin(200, std::move(fields)));
  const auto executor = co_await asio::this_coro::executor;
  EventStream stream(exchange, executor);
  auto ended = co_await first_of(body(stream), stream.beat(heartbeat_every));
  CLOCHE_CO_CHECK(std::move(std::get<0>(ended)));
  co_return co_await exchange.end();
}

}  // namespace cloche::http
