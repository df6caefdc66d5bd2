// Routes of envd: what serves them, and which of them need the sandbox's token.
#pragma once

#include <functional>

#include "dialect/e2b/connect/server_stream.hpp"
#include "dialect/e2b/connect/unary_call.hpp"
#include "dialect/e2b/data_call.hpp"
#include "http/server/router.hpp"
#include "sandbox/users.hpp"

namespace cloche::dialect::e2b {

struct EnvdRoute {
  std::function<Task<>(DataCall&)> serve;
  enum class Access {
    token,      // 401 without it
    open,       // to all
    signature,  // the route checks it
  } access = Access::token;
};
using EnvdRouter = http::Router<EnvdRoute>;

// A method of a Connect service: its message, the deadline of its caller.
using UnaryMethod = Task<connect::Reply<json::value>> (*)(DataCall&, const connect::ProtoObject&, Deadline);
void add_unary(EnvdRouter& router, std::string_view path, UnaryMethod method);

// A method that answers with a stream.
using StreamMethod = Task<connect::Reply<>> (*)(DataCall&, const connect::ProtoObject&, connect::ServerStream&);
void add_stream(EnvdRouter& router, std::string_view path, StreamMethod method);

// The user that the call names: `unauthenticated` if the sandbox has no such user.
connect::Reply<SandboxUser> user_of(const DataCall& call, std::string_view name);
inline connect::Reply<SandboxUser> user_of(const DataCall& call) { return user_of(call, call.user); }

// {"code": status, "message": ...}, as all routes that are not Connect's.
Task<> answer_rest_error(http::Exchange& exchange, unsigned status, std::string message);

void add_process_routes(EnvdRouter& router);
void add_filesystem_routes(EnvdRouter& router);
void add_watch_routes(EnvdRouter& router);
void add_content_routes(EnvdRouter& router);
void add_status_routes(EnvdRouter& router);

}  // namespace cloche::dialect::e2b
