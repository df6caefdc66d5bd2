#include "api/runs/events.hpp"

#include <boost/json/object.hpp>

#include "api/errors.hpp"
#include "api/session_auth_check.hpp"
#include "core/async/first_of.hpp"
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "http/grammar.hpp"
#include "http/server/answer/event_stream.hpp"
#include "json/write_json.hpp"

namespace cloche::api {

namespace {

// The next event; nullopt if there are no more or the server is stopping.
Task<> next_event(session::RunReader& reader, std::optional<session::RunEvent>& event) {
  auto next = co_await reader.next();
  event = std::move(next);
}

// It has no id because it is not an event of the run.
http::ServerEvent error_event(std::string_view code, std::string_view message) {
  boost::json::object body;
  body["code"] = code;
  body["message"] = message;
  http::ServerEvent event;
  event.name = "error";
  event.data = write_json(body);
  return event;
}

Task<Status> send_all(const Call& call, http::EventStream& stream, session::RunReader& reader,
                      const session::SessionKey& key, std::uint64_t position) {
  http::ServerEvent first = first_event(reader.run(), key, position);
  auto begun = co_await stream.send(std::move(first));
  if (!begun) co_return begun;
  SessionAuthCheck auth_check(call);
  for (;;) {
    if (const auto out = auth_check.check()) {
      http::ServerEvent last = error_event(out->code, out->message);
      co_return co_await stream.send(std::move(last));
    }
    std::optional<session::RunEvent> event;
    const auto ended = co_await first_of(next_event(reader, event), call.exchange.wait_until_server_stops(),
                                         auth_check.wait_until_due());
    if (!event && ended.index() == 2) continue;
    if (!event && ended.index() == 0 && reader.run().running()) {
      http::ServerEvent last =
          error_event(answer_for(ErrorCode::paused).code, session::Session::paused_error(key).message);
      co_return co_await stream.send(std::move(last));
    }
    if (!event) co_return Status{};
    fault_point<"service.events">();
    http::ServerEvent told = to_server_event(reader.run(), key, *event);
    auto sent = co_await stream.send(std::move(told));
    if (!sent) co_return sent;
  }
}

// A stream that fails inside ends with an event that says so.
Task<Status> send_or_report(const Call& call, http::EventStream& stream, session::RunReader& reader,
                            const session::SessionKey& key, std::uint64_t position) {
  auto work = [&] { return send_all(call, stream, reader, key, position); };
  auto sent = co_await guarded("events of run " + reader.run().id(), std::move(work));
  if (sent || sent.error().code != ErrorCode::internal) co_return sent;
  http::ServerEvent last = error_event("internal", "internal error; see the server log for this request id");
  co_return co_await stream.send(std::move(last));
}

}  // namespace

bool accepts(const http::Exchange& exchange, std::string_view type) {
  std::string_view accept = exchange.field("Accept");
  while (!accept.empty()) {
    const auto comma = std::min(accept.find(','), accept.size());
    const std::string_view range = accept.substr(0, comma);
    if (same_word(http::without_blanks_around(range.substr(0, range.find(';'))), type)) return true;
    accept.remove_prefix(std::min(comma + 1, accept.size()));
  }
  return false;
}

Task<Status> stream_run(Call& call, std::shared_ptr<session::Run> run, session::SessionKey key,
                        std::uint64_t position) {
  CLOCHE_CO_TRY(session::RunReader reader, session::RunReader::at(std::move(run), position));
  std::function<Task<Status>(http::EventStream&)> body = [&](http::EventStream& stream) {
    return send_or_report(call, stream, reader, key, position);
  };
  auto served = co_await http::serve_events(call.exchange, std::move(body));
  co_return served;
}

}  // namespace cloche::api
