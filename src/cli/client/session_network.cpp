#include "cli/client/session_network.hpp"

#include "json/write_json.hpp"
#include "session/network_json.hpp"

namespace cloche::cli {

Task<Status> set_network(Service& service, SessionPlace place, NetworkPolicy network) {
  boost::json::object body;
  body["network"] = session::to_json(network);
  http::Request request;
  request.method = "PUT";
  request.target = place.target() + "/network";
  request.fields.emplace_back("Content-Type", "application/json");
  request.body = write_json(body);
  const http::BodySink none;
  auto changed = co_await service.send(std::move(request), none, Deadline::never());
  if (!changed) co_return fail(std::move(changed).error());
  co_return Status{};
}

}  // namespace cloche::cli
