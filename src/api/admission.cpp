#include "api/admission.hpp"

#include <algorithm>

#include "core/log.hpp"

namespace cloche::api {

namespace {

std::size_t count_of(const http::Fields& fields, std::string_view name) {
  const auto is_it = [&](const auto& field) { return same_word(field.first, name); };
  return static_cast<std::size_t>(std::ranges::count_if(fields, is_it));
}

// What the access log does not say.
void log_refusal(const http::Exchange& exchange, const auth::AuthError& refusal) {
  if (refusal.detail.empty()) return;
  const auto level = refusal.reason == auth::Reason::unavailable ? spdlog::level::err : spdlog::level::info;
  spdlog::log(level, "request {}: refused: {}: {}", exchange.request_id(), to_string(refusal.reason), refusal.detail);
}

// As the value of Authorization.
std::optional<std::string> credential_of(const http::Exchange& exchange, Credential credential) {
  const std::string_view name = credential == Credential::api_key ? "X-API-Key" : "Authorization";
  if (count_of(exchange.fields(), name) == 0) return std::nullopt;
  const std::string value(exchange.field(name));
  if (credential == Credential::authorization) return value;
  // Also where any key will do, one has to be there.
  if (value.empty()) return std::nullopt;
  return "Bearer " + value;
}

}  // namespace

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

std::expected<LetIn, Denial> let_in(auth::Authenticator& authenticator, auth::Quotas& quotas,
                                    const http::Exchange& exchange, Credential credential, const HostTest& is_ours) {
  const http::Fields& fields = exchange.fields();
  for (const std::string_view name : {"Authorization", "X-API-Key"}) {
    const bool counts = name == "Authorization" || credential == Credential::api_key;
    if (!counts || count_of(fields, name) <= 1) continue;
    return std::unexpected(Denial{400, "more than one " + std::string(name) + " header; send one", {}, "malformed"});
  }
  if (!authenticator.needs_token()) {
    if (auto checked = check_call_origin(fields, exchange.peer(), is_ours); !checked) {
      return std::unexpected(Denial{403, checked.error().message, {}, "web_page"});
    }
  }
  const auto given = credential_of(exchange, credential);
  if (!given && credential == Credential::api_key) {
    return std::unexpected(Denial{401, "the X-API-Key header is missing or empty", {}, "missing"});
  }
  std::optional<std::string_view> authorization;
  if (given) authorization = *given;
  auto principal = authenticator.authenticate(authorization, place_of(exchange.peer()));
  if (!principal) {
    log_refusal(exchange, principal.error());
    return std::unexpected(denial_of(principal.error()));
  }
  auto place = count_request(quotas, *principal);
  if (!place) return std::unexpected(std::move(place).error());
  return LetIn{*std::move(principal), *std::move(place)};
}

std::expected<auth::QuotaTicket, Denial> count_request(auth::Quotas& quotas, const auth::Principal& principal) {
  if (auto admitted = quotas.admit_request(principal); !admitted) return std::unexpected(denial_of(admitted.error()));
  auto tenant = auth::authorize_tenant(principal, std::nullopt);
  if (!tenant) return std::unexpected(Denial{403, tenant.error().message, {}, "tenant"});
  auto place = quotas.take(*tenant, auth::Quota::calls);
  if (!place) return std::unexpected(denial_of(place.error()));
  return *std::move(place);
}

}  // namespace cloche::api
