#include "auth/auth_error.hpp"

#include <utility>

namespace cloche::auth {

namespace {

std::string_view message_of(Reason reason) {
  switch (reason) {
    case Reason::missing: return "missing token; send Authorization: Bearer TOKEN";
    case Reason::no_bearer: return "not a bearer token; send Authorization: Bearer TOKEN";
    case Reason::malformed: return "invalid token: neither a Cloche token (cloche_...) nor a JWT";
    case Reason::unknown: return "invalid token: it is unknown or was revoked";
    case Reason::expired: return "the token has expired";
    case Reason::not_yet_valid: return "the token is not valid yet";
    case Reason::wrong_claims: return "the token is not for this service or lacks a required claim";
    case Reason::not_local: return "this service has no tokens and accepts local connections only";
    case Reason::unavailable: return "tokens cannot be checked at the moment; see the server log for the cause";
  }
  return "not allowed";
}

}  // namespace

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::missing: return "missing";
    case Reason::no_bearer: return "no_bearer";
    case Reason::malformed: return "malformed";
    case Reason::unknown: return "unknown";
    case Reason::expired: return "expired";
    case Reason::not_yet_valid: return "not_yet_valid";
    case Reason::wrong_claims: return "wrong_claims";
    case Reason::not_local: return "not_local";
    case Reason::unavailable: return "unavailable";
  }
  return "unknown";
}

AuthError::operator Error() const {
  return {reason == Reason::unavailable ? ErrorCode::unavailable : ErrorCode::permission_denied, message};
}

std::unexpected<AuthError> refuse(Reason reason, std::string detail) {
  return std::unexpected(AuthError{reason, std::string(message_of(reason)), std::move(detail)});
}

}  // namespace cloche::auth
