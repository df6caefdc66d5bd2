// Refusal: why a connection or request is not carried, in the forms that the books and the program need.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "egress/books/event.hpp"
#include "egress/policy/policy.hpp"

namespace cloche::egress {

struct Refusal {
  Outcome outcome = Outcome::denied;
  unsigned status = 403;  // of the response to an HTTP client
  std::string reason;     // one line, for the program and the books
  std::string rule;       // that denied; empty: none

  // The line that the program receives: why, and what can be done.
  std::string text() const;
  // The reply field of SOCKS5.
  std::uint8_t socks_code() const;

  static Refusal denied(Decision decision);
  static Refusal invalid(std::string reason);     // 400: a request that cannot be carried
  static Refusal over_quota(std::string reason);  // 429
  static Refusal failed(const Error& error);      // 504 for a timeout, else 502
};

template <class T = void>
using OrRefusal = std::expected<T, Refusal>;

}  // namespace cloche::egress
