#include "api/files/watch.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/errors.hpp"
#include "api/files/file_call.hpp"
#include "api/files/place.hpp"
#include "api/session_access.hpp"
#include "api/session_auth_check.hpp"
#include "core/async/first_of.hpp"
#include "core/utf8.hpp"
#include "http/server/answer/event_stream.hpp"
#include "json/write_json.hpp"

namespace cloche::api {

namespace {

namespace json = boost::json;

std::string_view name_of(WatchEvent::Kind kind) {
  switch (kind) {
    case WatchEvent::Kind::created: return "created";
    case WatchEvent::Kind::written: return "written";
    case WatchEvent::Kind::removed: return "removed";
    case WatchEvent::Kind::renamed: return "renamed";
    case WatchEvent::Kind::mode_changed: return "mode_changed";
    case WatchEvent::Kind::overflow: return "overflow";
  }
  return "overflow";
}

http::ServerEvent event_of(std::string name, const json::object& body) {
  http::ServerEvent event;
  event.name = std::move(name);
  event.data = write_json(body);
  return event;
}

http::ServerEvent error_of_watch(std::string_view code, std::string_view message) {
  return event_of("error", {{"code", code}, {"message", message}});
}

http::ServerEvent changes_of(const std::vector<WatchEvent>& events) {
  json::array list;
  for (const WatchEvent& each : events) {
    list.push_back(json::object{{"type", name_of(each.kind)}, {"path", to_utf8(each.path)}});
  }
  return event_of("changes", {{"changes", std::move(list)}});
}

Result<Recursion> read_recursive(const http::Query& query) {
  const auto value = query.find("recursive").value_or("false");
  if (value == "true") return Recursion::whole_tree;
  if (value == "false") return Recursion::none;
  return fail(ErrorCode::invalid_argument, "recursive must be true or false");
}

Task<> next_events(FileWatch& watch, std::optional<Result<std::vector<WatchEvent>>>& events) {
  auto next = co_await watch.next();
  events = std::move(next);
}

Task<Status> send_events(const Call& call, session::Session& session, FileWatch& watch, std::string path,
                         http::EventStream& stream) {
  http::ServerEvent ready = event_of("ready", {{"path", std::move(path)}});
  CLOCHE_CO_CHECK(co_await stream.send(std::move(ready)));
  SessionAuthCheck auth_check(call);
  for (;;) {
    if (const auto out = auth_check.check()) {
      http::ServerEvent last = error_of_watch(out->code, out->message);
      co_return co_await stream.send(std::move(last));
    }
    std::optional<Result<std::vector<WatchEvent>>> events;
    const auto first = co_await first_of(next_events(watch, events), call.exchange.wait_until_server_stops(),
                                         auth_check.wait_until_due(), session.wait_until_paused());
    if (!events && first.index() == 1) co_return Status{};
    if (!events && first.index() == 2) continue;
    Error error = session::Session::paused_error(session.key());
    if (events && !*events) error = events->error();
    if (!events || !*events) {
      http::ServerEvent last = error_of_watch(answer_for(error.code).code, error.message);
      co_return co_await stream.send(std::move(last));
    }
    http::ServerEvent told = changes_of(**events);
    CLOCHE_CO_CHECK(co_await stream.send(std::move(told)));
  }
}

}  // namespace

Task<Status> watch_files(session::SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  const std::string wanted(query.find("path").value_or("."));
  WatchOptions options;
  CLOCHE_CO_TRY(options.recursion, read_recursive(query));
  CLOCHE_CO_TRY(const session::SessionUse use, find_session(call, store));
  CLOCHE_CO_TRY(const Place place, place_in(*use, wanted));
  CLOCHE_CO_TRY(const session::Admission following, use->admit_stream());
  Files files = place.sandbox->files();
  auto watch = co_await session::unless_paused(*use, files.watch(place.file, options, Deadline::after(file_timeout)));
  if (!watch) co_return co_await answer_file_error(call.exchange, std::move(watch).error());
  std::function<Task<Status>(http::EventStream&)> body = [&](http::EventStream& stream) {
    return send_events(call, *use, **watch, to_utf8(place.path), stream);
  };
  co_return co_await http::serve_events(call.exchange, std::move(body));
}

}  // namespace cloche::api
