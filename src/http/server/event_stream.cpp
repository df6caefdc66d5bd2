#include "http/server/event_stream.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <variant>

#include "core/shielded.hpp"

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

namespace {

// Never throws, so that the heartbeat does not go on alone.
Task<Status> run_body(const std::function<Task<Status>(EventStream&)>& body, EventStream& stream,
                      std::exception_ptr& thrown) {
  try {
    co_return co_await body(stream);
  } catch (...) {
    thrown = std::current_exception();
  }
  co_return Status{};
}

}  // namespace

Task<Status> serve_events(Exchange& exchange, std::function<Task<Status>(EventStream&)> body,
                          std::chrono::steady_clock::duration heartbeat_every) {
  Fields fields;
  fields.emplace_back("Content-Type", "text/event-stream");
  fields.emplace_back("Cache-Control", "no-store");
  fields.emplace_back("X-Accel-Buffering", "no");
  CLOCHE_CO_CHECK(co_await exchange.begin(200, std::move(fields)));
  const auto executor = co_await asio::this_coro::executor;
  EventStream stream(exchange, executor);
  using asio::experimental::awaitable_operators::operator||;
  std::exception_ptr thrown;
  auto ended = co_await (run_body(body, stream, thrown) || stream.beat(heartbeat_every));
  if (thrown) std::rethrow_exception(thrown);
  CLOCHE_CO_CHECK(std::move(std::get<0>(ended)));
  co_return co_await exchange.end();
}

}  // namespace cloche::http
