// Which requests are served: those of an authenticated caller, within the rate and the number of its tenant.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "api/call_origin.hpp"
#include "auth/authenticator.hpp"
#include "auth/quotas.hpp"
#include "http/server/exchange.hpp"

namespace cloche::api {

// Why a caller is rejected, as a response.
struct Denial {
  unsigned status = 403;
  std::string message;
  http::Fields fields;
  std::string reason;  // for the log
};

Denial denial_of(const auth::AuthError& refusal);
Denial denial_of(const auth::OverQuota& over);

// The authenticated caller, and its place among the running requests of its tenant.
struct LetIn {
  auth::Principal principal;
  auth::QuotaTicket place;
};

// Where a request has its credential.
enum class Credential {
  authorization,  // Authorization: Bearer TOKEN
  api_key,        // X-API-Key: TOKEN
};

// Without tokens, when only local clients are served, it also rejects what a web page in a browser could have sent.
std::expected<LetIn, Denial> let_in(auth::Authenticator& authenticator, auth::Quotas& quotas,
                                    const http::Exchange& exchange, Credential credential = Credential::authorization,
                                    const HostTest& is_ours = names_this_machine);
// The part of it that counts the request of a caller who is known.
std::expected<auth::QuotaTicket, Denial> count_request(auth::Quotas& quotas, const auth::Principal& principal);

}  // namespace cloche::api
