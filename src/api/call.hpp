// Call: one request that has passed the front door, and who sent it. Routes of the service are functions of it; only
// health checks, which are for everybody, are plain routes.
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
  auth::Authenticator& authenticator;  // that let it in; see SessionAuthCheck

  // The tenant that the call is for: the one its path or body names, else the principal's own.
  Result<auth::AuthorizedTenant> tenant(const std::optional<std::string>& wanted) const;
};

// What it returns as an error is answered by the table in api/errors.hpp, unless an answer has begun. Where the body
// could not be read, the answer is the one that fits that: 413, 415, 408.
using CallHandler = std::function<Task<Status>(Call&)>;
using CallRouter = http::Router<CallHandler>;

// How errors are told.
enum class ErrorForm {
  error,   // {"error": {"code", "message", "request_id"}}
  detail,  // {"detail": message}: the lease interface's
};

// Lets in who has a token, within the tenant's rate of requests: 401 with WWW-Authenticate, 403, 429 with Retry-After,
// 503. Without tokens, when only this machine is served, it also refuses what a web page in a browser could have sent:
// another Host, a foreign Origin.
class ApiGuard {
 public:
  // Both outlive it and what it guards.
  ApiGuard(auth::Authenticator& authenticator, auth::Quotas& quotas);

  http::RouteHandler guard(CallHandler handler, ErrorForm form = ErrorForm::error) const;
  // All of a router's routes, guarded, with and without the prefix /v1/sandbox.
  void open(const CallRouter& calls, http::Router<http::RouteHandler>& into) const;

 private:
  auth::Authenticator& authenticator_;
  auth::Quotas& quotas_;
};

// 429 with Retry-After.
Task<> answer_over_quota(http::Exchange& exchange, auth::OverQuota over, ErrorForm form = ErrorForm::error);

}  // namespace cloche::api
