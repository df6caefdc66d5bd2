#include "api/contexts/routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/contexts/bodies.hpp"
#include "http/server/request/json_body.hpp"

namespace cloche::api {

namespace {

namespace json = boost::json;
using session::Contexts;
using session::SessionStore;
using session::SessionUse;

// An interpreter starts in well under a second; a session may have to be made first, and a restart waits for its turn.
constexpr std::chrono::seconds starting_patience{90};

// Finds the existing session that the path names.
Result<SessionUse> session_of(SessionStore& store, const Call& call) {
  CLOCHE_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  return store.find(tenant, std::string(call.path["session"]));
}

Task<Status> list(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(SessionUse use, session_of(store, call));
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
  CLOCHE_CO_CHECK(session::parse_context_language(wanted.language));
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  const Deadline deadline = Deadline::after(starting_patience);
  std::string id(call.path["session"]);
  auto use = co_await store.use(tenant, std::move(id), deadline);
  if (!use) co_return fail(std::move(use).error());
  auto made = co_await (*use)->part<Contexts>().create(std::move(wanted.name), std::move(wanted.language), deadline);
  if (!made) co_return fail(std::move(made).error());
  const json::value answer = to_json(*made);
  co_return co_await http::respond_json(call.exchange, 201, answer);
}

Task<Status> restart(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(SessionUse use, session_of(store, call));
  std::string name(call.path["name"]);
  const Deadline deadline = Deadline::after(starting_patience);
  auto restarted = co_await use->part<Contexts>().restart(std::move(name), deadline);
  if (!restarted) co_return fail(std::move(restarted).error());
  const json::value answer = to_json(*restarted);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> close(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(SessionUse use, session_of(store, call));
  std::string name(call.path["name"]);
  call.exchange.outlive_client();
  auto closed = co_await use->part<Contexts>().close(name);
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
