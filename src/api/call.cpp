#include "api/call.hpp"

#include "api/admission.hpp"
#include "api/detail.hpp"
#include "api/errors.hpp"
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "json/write_json.hpp"

namespace cloche::api {

namespace {

Task<> answer_denial(http::Exchange& exchange, Denial denial, ErrorForm form) {
  exchange.label("refused", denial.reason);
  if (form == ErrorForm::detail) {
    co_await answer_detail(exchange, denial.status, std::move(denial.message), std::move(denial.fields));
    co_return;
  }
  [[maybe_unused]] auto sent =
      co_await exchange.refuse(denial.status, std::move(denial.message), std::move(denial.fields));
}

Task<> answer_failure(http::Exchange& exchange, Error error, ErrorForm form) {
  if (form == ErrorForm::detail) {
    co_await answer_detail_error(exchange, std::move(error));
    co_return;
  }
  if (exchange.is_answered()) {
    log::debug("request {}: response aborted: {}", exchange.request_id(), error.message);
    exchange.break_off();
    co_return;
  }
  // The server knows the status that fits.
  if (exchange.body_failed()) co_return;
  co_await answer_error(exchange, error);
}

// What a guarded route needs; both outlive it.
struct Guards {
  auth::Authenticator& authenticator;
  auth::Quotas& quotas;
};

Task<> serve_call(Guards guards, ErrorForm form, const CallHandler& handler, http::Exchange& exchange,
                  const http::PathParameters& path) {
  auto caller = let_in(guards.authenticator, guards.quotas, exchange);
  if (!caller) {
    Denial denial = std::move(caller).error();
    co_await answer_denial(exchange, std::move(denial), form);
    co_return;
  }
  exchange.label("tenant", caller->principal.tenant);
  if (!caller->principal.token_id.empty()) exchange.label("token", caller->principal.token_id);
  exchange.charge_to(caller->principal.tenant);
  Call call{exchange, path, std::move(caller->principal), guards.authenticator};
  auto work = [&]() -> Task<Status> {
    CLOCHE_CO_CHECK(fallible_point<"service.request">());
    co_return co_await handler(call);
  };
  auto served = co_await guarded("request " + std::string(exchange.request_id()), std::move(work));
  if (served) co_return;
  Error error = std::move(served).error();
  co_await answer_failure(exchange, std::move(error), form);
}

}  // namespace

Result<auth::AuthorizedTenant> Call::tenant(const std::optional<std::string>& wanted) const {
  std::optional<std::string_view> name;
  if (wanted) name = *wanted;
  return auth::authorize_tenant(principal, name);
}

ApiGuard::ApiGuard(auth::Authenticator& authenticator, auth::Quotas& quotas)
    : authenticator_(authenticator), quotas_(quotas) {}

http::RouteHandler ApiGuard::guard(CallHandler handler, ErrorForm form) const {
  const Guards guards{authenticator_, quotas_};
  return [guards, form, handler = std::move(handler)](http::Exchange& exchange, const http::PathParameters& path) {
    return serve_call(guards, form, handler, exchange, path);
  };
}

void ApiGuard::open(const CallRouter& calls, http::Router<http::RouteHandler>& into) const {
  http::Router<http::RouteHandler> guarded;
  calls.for_each([&](const std::string& method, const std::string& pattern, const CallHandler& handler) {
    guarded.add(method, pattern, guard(handler));
  });
  into.mount("", guarded);
  into.mount("/v1/sandbox", guarded);
}

Task<> answer_over_quota(http::Exchange& exchange, auth::OverQuota over, ErrorForm form) {
  Denial denial = denial_of(over);
  co_await answer_denial(exchange, std::move(denial), form);
}

}  // namespace cloche::api
