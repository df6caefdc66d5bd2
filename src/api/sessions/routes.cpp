#include "api/sessions/routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/sessions/bodies.hpp"
#include "http/server/request/json_body.hpp"
#include "json/json_object.hpp"

namespace cloche::api {

namespace {

using session::SessionStore;

// How long a session may take to be made: its pool may have none that is warm.
constexpr std::chrono::seconds making_timeout{60};
// The same for one that starts with the files of a snapshot.
constexpr std::chrono::minutes restoring_timeout{10};
// How long calls under way may take until they are cut, when a session is ended.
constexpr std::chrono::seconds ending_timeout{60};

Task<Status> create(SessionStore& store, Call& call) {
  auto body = co_await http::read_json(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(NewSession wanted, read_new_session(*body));
  CLOCHE_CO_TRY(const auto tenant, call.tenant(wanted.tenant));
  const auto timeout = wanted.options.snapshot.empty() ? making_timeout : restoring_timeout;
  auto made = co_await store.create(tenant, std::move(wanted.id), std::move(wanted.options), Deadline::after(timeout));
  if (!made) co_return fail(std::move(made).error());
  const json::value answer = to_json(*made);
  co_return co_await http::respond_json(call.exchange, 201, answer);
}

Task<Status> list(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  std::optional<std::string> tenant;
  if (const auto named = query.find("tenant_id")) tenant = std::string(*named);
  const bool all = call.principal.role == auth::Role::admin && !tenant;
  if (!all) {
    CLOCHE_CO_TRY(const auto allowed, call.tenant(tenant));
    tenant = allowed.name();
  }
  CLOCHE_CO_TRY(const SessionFilter filter, read_session_filter(query));
  constexpr std::size_t weight_of_session = 512;  // the time to serialize one, as a number of bytes
  auto all_of_them = store.list(tenant);
  std::erase_if(all_of_them, [&](const session::SessionInfo& info) { return !filter.accepts(info); });
  const std::size_t size = all_of_them.size() * weight_of_session;
  std::function<json::value()> make = [infos = std::move(all_of_them)] {
    json::array sessions;
    for (const auto& info : infos) sessions.push_back(to_json(info));
    json::object answer;
    answer["sessions"] = std::move(sessions);
    return answer;
  };
  co_return co_await http::respond_json(call.exchange, 200, std::move(make), size);
}

Task<Status> show(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  CLOCHE_CO_TRY(const auto info, store.info(tenant, std::string(call.path["session"])));
  const json::value answer = to_json(info);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Result<session::EndMode> read_mode(const http::Query& query) {
  const auto mode = query.find("mode").value_or("cut");
  if (mode == "cut") return session::EndMode::cut;
  if (mode == "wait") return session::EndMode::wait;
  return fail(ErrorCode::invalid_argument,
              "mode must be 'cut' (running calls fail) or 'wait' (running calls finish first)");
}

Task<Status> end(SessionStore& store, Call& call) {
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  CLOCHE_CO_TRY(const session::EndMode mode, read_mode(query));
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  call.exchange.outlive_client();
  std::string id(call.path["session"]);
  auto ended = co_await store.end(tenant, id, mode, Deadline::after(ending_timeout));
  if (!ended) co_return ended;
  json::object answer;
  answer["status"] = "ended";
  answer["tenant_id"] = tenant.name();
  answer["session_id"] = id;
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

Task<Status> set_network(SessionStore& store, Call& call) {
  auto body = co_await http::read_json(call.exchange);
  if (!body) co_return fail(std::move(body).error());
  CLOCHE_CO_TRY(auto network, read_network_body(*body));
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  auto changed = co_await store.set_network(tenant, std::string(call.path["session"]), std::move(network),
                                            Deadline::after(making_timeout));
  if (!changed) co_return fail(std::move(changed).error());
  const json::value answer = to_json(*changed);
  co_return co_await http::respond_json(call.exchange, 200, answer);
}

}  // namespace

void add_session_routes(CallRouter& router, SessionStore& store) {
  router.add("POST", "/sessions", [&store](Call& call) { return create(store, call); });
  router.add("GET", "/sessions", [&store](Call& call) { return list(store, call); });
  router.add("GET", "/sessions/{tenant}/{session}", [&store](Call& call) { return show(store, call); });
  router.add("PUT", "/sessions/{tenant}/{session}/network", [&store](Call& call) { return set_network(store, call); });
  router.add("DELETE", "/sessions/{tenant}/{session}", [&store](Call& call) { return end(store, call); });
}

}  // namespace cloche::api
