#include "dialect/e2b/envd/routes.hpp"

#include "core/utf8.hpp"
#include "json/write_json.hpp"

namespace cloche::dialect::e2b {

using connect::Code;
using connect::ProtoObject;
using connect::Reply;

void add_unary(EnvdRouter& router, std::string_view path, UnaryMethod method) {
  EnvdRoute route;
  route.serve = [method](DataCall& call) -> Task<> {
    connect::UnaryHandler handler = [&call, method](const ProtoObject& message, Deadline deadline) {
      return method(call, message, deadline);
    };
    co_await connect::serve_unary(call.exchange, std::move(handler));
  };
  router.add("POST", path, std::move(route));
}

void add_stream(EnvdRouter& router, std::string_view path, StreamMethod method) {
  EnvdRoute route;
  route.serve = [method](DataCall& call) -> Task<> {
    connect::StreamHandler handler = [&call, method](const ProtoObject& message, connect::ServerStream& stream) {
      return method(call, message, stream);
    };
    co_await connect::serve_stream(call.exchange, std::move(handler));
  };
  router.add("POST", path, std::move(route));
}

Reply<SandboxUser> user_of(const DataCall& call, std::string_view name) {
  auto user = call.use->lease()->user(name);
  if (!user) return connect::failure(Code::unauthenticated, "invalid username: '" + std::string(name) + "'");
  return std::move(*user);
}

Task<> answer_rest_error(http::Exchange& exchange, unsigned status, std::string message) {
  if (exchange.is_answered()) co_return;
  json::object body;
  body["code"] = status;
  body["message"] = to_utf8(message);
  http::Fields fields;
  fields.emplace_back("Content-Type", "application/json");
  std::string text = write_json(body);
  [[maybe_unused]] auto sent = co_await exchange.respond(status, std::move(fields), std::move(text));
}

}  // namespace cloche::dialect::e2b
