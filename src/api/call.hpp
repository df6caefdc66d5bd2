// Call: one authenticated request and its caller. Routes of the service are functions of it. Only health checks, which
// are open to all, are plain routes.
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

// A returned error is answered by the table in api/errors.hpp, unless a response has begun. If the body could not be
// read, the status is that of the body error: 413, 415 or 408.
using CallHandler = std::function<Task<Status>(Call&)>;
using CallRouter = http::Router<CallHandler>;

// The form of error responses.
enum class ErrorForm {
  error,   // {"error": {"code", "message", "request_id"}}
  detail,  // {"detail": message}: the lease interface's
};

// Accepts requests with a valid token within the tenant's request rate. Otherwise it answers 401 with WWW-Authenticate,
// 403, 429 with Retry-After, or 503. Without tokens, when only local clients are served, it also rejects what a web
// page in a browser could have sent: another Host or a foreign Origin.
class ApiGuard {
 public:
  // Both must outlive this object and what it guards.
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
