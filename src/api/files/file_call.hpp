// FileCall: a route about a file: a body is read and checked first, then the session is found or created, and the
// errors of both are mapped to statuses.
#pragma once

#include <chrono>

#include "api/files/bodies.hpp"
#include "api/session_access.hpp"
#include "http/server/request/json_body.hpp"
#include "session/unless_paused.hpp"

namespace cloche::api {

// For a single operation in a sandbox.
constexpr std::chrono::seconds file_timeout{60};
// For a stream, while it makes progress.
constexpr std::chrono::minutes stream_timeout{30};

// Passes the error on, but answers 413 where something does not fit: a file, the workspace, an answer.
Task<Status> answer_file_error(http::Exchange& exchange, Error error);

constexpr http::JsonLimits json_limits(Bytes most, const Shape& shape = shapes::anything) {
  return {.size = most, .depth = 16, .shape = &shape};
}

// Counts a file operation in the tenant's quota, and waits for its turn in the session.
struct FileTurn {
  auth::QuotaTicket ticket;
  Gate::Pass pass;
};
Task<Result<FileTurn>> begin_file_operation(session::Session& session);

template <class Body>
struct FileCall {
  Result<Body> (*read)(const json::value&);
  Task<Status> (*serve)(Call&, session::Session&, Body);
  Bytes most;  // of the body
  const Shape* shape = &shapes::anything;
};

template <class Body>
Task<Status> serve_file_call(session::SessionStore& store, FileCall<Body> how, Call& call) {
  const http::JsonLimits limits = json_limits(how.most, *how.shape);
  auto body = co_await http::read_json_as<Body>(call.exchange, limits, how.read);
  if (!body) co_return fail(std::move(body).error());
  auto tenant = call.tenant(body->where.tenant);
  if (!tenant) co_return fail(std::move(tenant).error());
  std::string id = body->where.session;
  auto used = co_await store.use(std::move(*tenant), std::move(id), Deadline::after(session_timeout));
  if (!used) co_return fail(std::move(used).error());
  const session::SessionUse use = std::move(*used);
  auto turn = co_await begin_file_operation(*use);
  if (!turn) co_return fail(std::move(turn).error());
  auto served = co_await session::unless_paused(*use, how.serve(call, *use, std::move(*body)));
  if (served) co_return served;
  co_return co_await answer_file_error(call.exchange, std::move(served).error());
}

template <class Body>
CallHandler file_call(session::SessionStore& store, FileCall<Body> how) {
  return [&store, how](Call& call) { return serve_file_call<Body>(store, how, call); };
}

}  // namespace cloche::api
