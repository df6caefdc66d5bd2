#include "api/runs/events.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "http/grammar.hpp"
#include "http/server/event_stream.hpp"

namespace cloche::api {

namespace {

// The next event; nullopt when there are no more, or the server stops.
Task<> next_event(session::RunReader& reader, std::optional<session::RunEvent>& event) {
  auto next = co_await reader.next();
  event = std::move(next);
}

Task<Status> send_all(http::Exchange& exchange, http::EventStream& stream, session::RunReader& reader,
                      const RunPlace& place, std::uint64_t position) {
  using asio::experimental::awaitable_operators::operator||;
  http::ServerEvent first = first_event(reader.run(), place, position);
  auto begun = co_await stream.send(std::move(first));
  if (!begun) co_return begun;
  for (;;) {
    std::optional<session::RunEvent> event;
    co_await (next_event(reader, event) || exchange.wait_until_server_stops());
    if (!event) co_return Status{};
    http::ServerEvent told = to_server_event(reader.run(), place, *event);
    auto sent = co_await stream.send(std::move(told));
    if (!sent) co_return sent;
  }
}

}  // namespace

bool accepts(const http::Exchange& exchange, std::string_view type) {
  std::string_view accept = exchange.field("Accept");
  while (!accept.empty()) {
    const auto comma = std::min(accept.find(','), accept.size());
    const std::string_view range = accept.substr(0, comma);
    if (http::same_word(http::without_blanks_around(range.substr(0, range.find(';'))), type)) return true;
    accept.remove_prefix(std::min(comma + 1, accept.size()));
  }
  return false;
}

Task<Status> stream_run(http::Exchange& exchange, std::shared_ptr<session::Run> run, RunPlace place,
                        std::uint64_t position) {
  CLOCHE_CO_TRY(session::RunReader reader, session::RunReader::at(std::move(run), position));
  std::function<Task<Status>(http::EventStream&)> body = [&](http::EventStream& stream) {
    return send_all(exchange, stream, reader, place, position);
  };
  auto served = co_await http::serve_events(exchange, std::move(body));
  co_return served;
}

}  // namespace cloche::api
