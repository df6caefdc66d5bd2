#include "api/runs/events.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/json/object.hpp>

#include "api/session_auth_check.hpp"
#include "http/grammar.hpp"
#include "http/server/event_stream.hpp"
#include "json/write_json.hpp"

namespace cloche::api {

namespace {

// The next event; nullopt when there are no more, or the server stops.
Task<> next_event(session::RunReader& reader, std::optional<session::RunEvent>& event) {
  auto next = co_await reader.next();
  event = std::move(next);
}

// Without an id: it is no event of the run.
http::ServerEvent last_words_to(const Revoked& out) {
  boost::json::object body;
  body["code"] = out.code;
  body["message"] = out.message;
  http::ServerEvent event;
  event.name = "error";
  event.data = write_json(body);
  return event;
}

Task<Status> send_all(const Call& call, http::EventStream& stream, session::RunReader& reader, const RunPlace& place,
                      std::uint64_t position) {
  using asio::experimental::awaitable_operators::operator||;
  http::ServerEvent first = first_event(reader.run(), place, position);
  auto begun = co_await stream.send(std::move(first));
  if (!begun) co_return begun;
  SessionAuthCheck auth_check(call);
  for (;;) {
    if (const auto out = auth_check.check()) {
      http::ServerEvent last = last_words_to(*out);
      co_return co_await stream.send(std::move(last));
    }
    std::optional<session::RunEvent> event;
    const auto first_of =
        co_await (next_event(reader, event) || call.exchange.wait_until_server_stops() || auth_check.wait_until_due());
    if (!event && first_of.index() == 2) continue;
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

Task<Status> stream_run(Call& call, std::shared_ptr<session::Run> run, RunPlace place, std::uint64_t position) {
  CLOCHE_CO_TRY(session::RunReader reader, session::RunReader::at(std::move(run), position));
  std::function<Task<Status>(http::EventStream&)> body = [&](http::EventStream& stream) {
    return send_all(call, stream, reader, place, position);
  };
  auto served = co_await http::serve_events(call.exchange, std::move(body));
  co_return served;
}

}  // namespace cloche::api
