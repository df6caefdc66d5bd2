// ControlCall: one authenticated request to the control plane.
#pragma once

#include <boost/json/value.hpp>
#include <functional>

#include "dialect/e2b/control/answers.hpp"
#include "dialect/e2b/parts.hpp"
#include "http/server/exchange.hpp"
#include "http/server/router.hpp"

namespace cloche::dialect::e2b {

struct ControlCall {
  http::Exchange& exchange;
  const http::PathParameters& path;
  Parts& parts;
  auth::AuthorizedTenant tenant;
  std::string api_key;  // the id of the key, if it can be revoked
};

// A returned error is answered as errors.hpp says.
using ControlHandler = std::function<Task<Status>(ControlCall&)>;
using ControlRouter = http::Router<ControlHandler>;

// The sandbox in the path, of the caller's tenant. `not_found` as E2B says it.
Result<SandboxPtr> find_sandbox(const ControlCall& call);
std::unexpected<Error> no_such_sandbox(std::string_view id);

// The body; an empty one is an empty object.
Task<Result<boost::json::value>> read_body(http::Exchange& exchange);

Task<Status> answer_nothing(http::Exchange& exchange);  // 204

// The sandbox as its owner sees it. `not_found` if it has ended meanwhile.
using ToJson = boost::json::object (*)(const ShownSandbox&);
Result<boost::json::object> show(const ControlCall& call, const Sandbox& sandbox, ToJson to_json);
Result<boost::json::object> show(const Parts& parts, const Sandbox& sandbox, const session::SessionInfo& info,
                                 ToJson to_json);

// The profile of a session. `not_found` if the configuration has it no longer.
Result<std::shared_ptr<const Profile>> profile_of(const Parts& parts, const session::SessionInfo& info);

// Writes the files by which programs of a new sandbox know where they run. A sandbox without them is still one.
Task<> mark_sandbox(Parts& parts, auth::AuthorizedTenant tenant, std::string id);

// The longest time until a sandbox is made, or changed.
inline constexpr std::chrono::seconds making_timeout{60};
inline constexpr std::chrono::seconds changing_timeout{30};

}  // namespace cloche::dialect::e2b
