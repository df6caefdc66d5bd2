#include "api/contexts/routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/session_access.hpp"
#include "core/utc_time.hpp"
#include "http/server/request/json_body.hpp"
#include "json/json_object.hpp"
#include "session/contexts.hpp"
#include "session/unless_paused.hpp"

namespace cloche::api {

namespace {

namespace json = boost::json;
using session::Contexts;
using session::SessionStore;
using session::SessionUse;

// An interpreter starts in well under a second; a restart waits for its turn.
constexpr std::chrono::seconds starting_timeout{90};

struct NewContext {
  std::string name;
  std::string language;
};

// {"name", "language"}
Result<NewContext> read_new_context(const json::value& body) {
  CLOCHE_TRY(JsonObject object, JsonObject::of(body, "the body"));
  NewContext wanted;
  CLOCHE_TRY(wanted.name, object.text("name"));
  CLOCHE_TRY(wanted.language, object.text("language"));
  CLOCHE_CHECK(object.finish());
  return wanted;
}

json::object to_json(const session::ContextInfo& info) {
  json::object body;
  body["name"] = info.name;
  body["language"] = session::to_string(info.language);
  body["alive"] = info.alive;
  body["calls"] = info.calls;
  body["created"] = to_utc_text(info.created);
  body["last_used"] = to_utc_text(info.last_used);
  return body;
}

Task<Status> list(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(SessionUse use, find_session(call, store));
  json::array contexts;
  for (const auto& info : use->part<Contexts>().list()) contexts.push_back(to_json(info));
  json::object answer;
  answer["contexts"] = std::move(contexts);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> create(SessionStore& store, Call& call) {
  auto body = co_await http::read_json(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(NewContext wanted, read_new_context(*body));
  // No session is made for what cannot be in it.
  CLOCHE_CO_CHECK(session::check_context_name(wanted.name));
  session::ContextOptions options;
  CLOCHE_CO_TRY(options.language, session::parse_context_language(wanted.language));
  auto use = co_await use_session(call, store);
  if (!use) co_return fail(std::move(use).error());
  const Deadline deadline = Deadline::after(starting_timeout);
  auto creating = (*use)->part<Contexts>().create(std::move(wanted.name), std::move(options), deadline);
  auto made = co_await session::unless_paused(**use, std::move(creating));
  if (!made) co_return fail(std::move(made).error());
  const json::value answer = to_json(*made);
  co_return co_await http::respond_json(call.exchange, 201, answer);
}

Task<Status> restart(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(SessionUse use, find_session(call, store));
  std::string name(call.path["name"]);
  const Deadline deadline = Deadline::after(starting_timeout);
  auto restarted = co_await session::unless_paused(*use, use->part<Contexts>().restart(std::move(name), deadline));
  if (!restarted) co_return fail(std::move(restarted).error());
  const json::value answer = to_json(*restarted);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> close(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(SessionUse use, find_session(call, store));
  std::string name(call.path["name"]);
  call.exchange.outlive_client();
  auto closed = co_await session::unless_paused(*use, use->part<Contexts>().close(name));
  if (!closed) co_return closed;
  json::object answer;
  answer["status"] = "closed";
  answer["name"] = name;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

}  // namespace

void add_context_routes(CallRouter& router, SessionStore& store) {
  constexpr const char* all = "/sessions/{tenant}/{session}/contexts";
  constexpr const char* one = "/sessions/{tenant}/{session}/contexts/{name}";
  router.add("GET", all, [&store](Call& call) { return list(store, call); });
  router.add("POST", all, [&store](Call& call) { return create(store, call); });
  router.add("DELETE", one, [&store](Call& call) { return close(store, call); });
  router.add("POST", std::string(one) + "/restart", [&store](Call& call) { return restart(store, call); });
}

}  // namespace cloche::api
