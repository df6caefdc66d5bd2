// Reading a secret from where it is kept. Blocking. No error contains any part of a value.
#pragma once

#include <string>
#include <string_view>

#include "cloche/bytes.hpp"
#include "cloche/egress.hpp"
#include "core/cancel_token.hpp"
#include "core/result.hpp"

namespace cloche::egress {

// Shorter values cannot be distinguished from ordinary text in a response; longer ones do not fit into a request's
// head.
inline constexpr std::size_t shortest_secret = 8;
inline constexpr Bytes longest_secret = kib(8);

// A line break at the end, from an editor or `echo`, is not part of it.
//
// env: not_found if this process has no such variable. file: not_found if it does not exist; permission_denied if users
// other than its owner can write it, or users outside its group can read it. command: `unavailable` if it cannot be
// started or fails, `timeout`; a command that prints more than a secret can be is killed. Its errors are not shown,
// because they may contain the value. Always: invalid_argument if the value is too short or too long.
Result<std::string> read_secret(const EgressSecret& source, const CancelToken& token);

}  // namespace cloche::egress
