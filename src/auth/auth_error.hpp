// AuthError: why a caller was rejected.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::auth {

enum class Reason {
  missing,        // no token, and one is needed
  no_bearer,      // the header does not say `Bearer TOKEN`
  malformed,      // the value does not have the form of a token
  unknown,        // no such token, a wrong secret, or a signature that is not by our keys: never distinguished
  expired,        // a good token whose time is over
  not_yet_valid,  // a good token whose time is to come
  wrong_claims,   // well signed, but for another service, or without a required claim
  not_local,      // no tokens are configured, and the caller is on another machine
  unavailable,    // the token file or the keys cannot be read: no caller can be accepted
};

std::string_view to_string(Reason reason);

struct AuthError {
  Reason reason;
  std::string message;  // for the caller; never says which part of a secret was wrong
  std::string detail;   // for the log alone: paths, parse errors. Often empty

  // `unavailable` for that reason, else `permission_denied`. Without the detail.
  operator Error() const;  // NOLINT(google-explicit-constructor): so that CLOCHE_TRY takes it along
};

template <class T>
using Authenticated = std::expected<T, AuthError>;

// With the message for the reason.
std::unexpected<AuthError> refuse(Reason reason, std::string detail = {});

}  // namespace cloche::auth
