// Call: one request that has passed the front door, and who sent it. Routes of the service are functions of it; the
// lease interface and health checks, which have rules of their own, are plain routes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "auth/authenticator.hpp"
#include "auth/quotas.hpp"
#include "http/server/routed.hpp"

namespace cloche::api {

struct Call {
  http::Exchange& exchange;
  const http::PathParameters& path;
  auth::Principal principal;

  // The tenant that the call is for: the one its path or body names, else the principal's own.
  Result<auth::AuthorizedTenant> tenant(const std::optional<std::string>& wanted) const;
};

// What it returns as an error is answered by the table in api/errors.hpp, unless an answer has begun.
using CallHandler = std::function<Task<Status>(Call&)>;
using CallRouter = http::Router<CallHandler>;

// Lets in who has a token, within the tenant's rate of requests: 401 with WWW-Authenticate, 403, 429 with Retry-After,
// 503. On loopback it also refuses what a web page in a browser could have sent: another Host, a foreign Origin.
class FrontDoor {
 public:
  // Both outlive it.
  FrontDoor(auth::Authenticator& authenticator, auth::Quotas& quotas);

  http::RouteHandler guard(CallHandler handler) const;
  // All of a router's routes, guarded, with and without the prefix /v1/sandbox.
  void open(const CallRouter& calls, http::Router<http::RouteHandler>& into) const;

 private:
  auth::Authenticator& authenticator_;
  auth::Quotas& quotas_;
};

}  // namespace cloche::api
