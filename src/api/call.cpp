#include "api/call.hpp"

#include "api/call_origin.hpp"
#include "api/detail.hpp"
#include "api/errors.hpp"
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "json/write_json.hpp"

namespace cloche::api {

namespace {

// Why a caller is rejected, as a response.
struct Denial {
  unsigned status = 403;
  std::string message;
  http::Fields fields;
  std::string reason;  // for the log
};

std::size_t count_of(const http::Fields& fields, std::string_view name) {
  const auto is_it = [&](const auto& field) { return same_word(field.first, name); };
  return static_cast<std::size_t>(std::ranges::count_if(fields, is_it));
}

Denial denial_of(const auth::AuthError& refusal) {
  Denial denial;
  denial.message = refusal.message;
  denial.reason = to_string(refusal.reason);
  switch (refusal.reason) {
    case auth::Reason::missing:
      denial.status = 401;
      denial.fields.emplace_back("WWW-Authenticate", "Bearer");
      break;
    case auth::Reason::no_bearer:
    case auth::Reason::malformed:
    case auth::Reason::unknown:
    case auth::Reason::expired:
    case auth::Reason::not_yet_valid:
    case auth::Reason::wrong_claims:
      denial.status = 401;
      denial.fields.emplace_back("WWW-Authenticate", "Bearer error=\"invalid_token\"");
      break;
    case auth::Reason::not_local: break;
    case auth::Reason::unavailable:
      denial.status = 503;
      denial.fields.emplace_back("Retry-After", "1");
      break;
  }
  return denial;
}

Denial denial_of(const auth::OverQuota& over) {
  Denial denial;
  denial.status = 429;
  denial.message = over.message;
  denial.fields.emplace_back("Retry-After", std::to_string(over.retry_after.count()));
  denial.reason = "quota";
  return denial;
}

// What the access log does not say.
void log_refusal(const http::Exchange& exchange, const auth::AuthError& refusal) {
  if (refusal.detail.empty()) return;
  const auto level = refusal.reason == auth::Reason::unavailable ? spdlog::level::err : spdlog::level::info;
  spdlog::log(level, "request {}: refused: {}: {}", exchange.request_id(), to_string(refusal.reason), refusal.detail);
}

// The authenticated caller, and its place among the running requests of its tenant.
struct LetIn {
  auth::Principal principal;
  auth::QuotaTicket place;
};

std::expected<LetIn, Denial> let_in(auth::Authenticator& authenticator, auth::Quotas& quotas,
                                    const http::Exchange& exchange) {
  const http::Fields& fields = exchange.fields();
  const std::size_t headers = count_of(fields, "Authorization");
  if (headers > 1) return std::unexpected(Denial{400, "more than one Authorization header; send one", {}, "malformed"});
  if (!authenticator.needs_token()) {
    if (auto checked = check_call_origin(fields, exchange.peer()); !checked) {
      return std::unexpected(Denial{403, checked.error().message, {}, "web_page"});
    }
  }
  std::optional<std::string_view> authorization;
  if (headers == 1) authorization = exchange.field("Authorization");
  auto principal = authenticator.authenticate(authorization, place_of(exchange.peer()));
  if (!principal) {
    log_refusal(exchange, principal.error());
    return std::unexpected(denial_of(principal.error()));
  }
  if (auto admitted = quotas.admit_request(*principal); !admitted) return std::unexpected(denial_of(admitted.error()));
  auto tenant = auth::authorize_tenant(*principal, std::nullopt);
  if (!tenant) return std::unexpected(Denial{403, tenant.error().message, {}, "tenant"});
  auto place = quotas.take(*tenant, auth::Quota::calls);
  if (!place) return std::unexpected(denial_of(place.error()));
  return LetIn{*std::move(principal), *std::move(place)};
}

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
