// Signatures of URLs for files: whoever has one may read or write one path. No I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace cloche::dialect::e2b {

struct SignedUse {
  std::string_view path;       // as in the query
  std::string_view operation;  // "read" or "write"
  std::string_view user;       // as in the query; empty if there is none
};

// "v1_" and base64 without padding.
std::string sign_use(const SignedUse& use, std::string_view token, std::optional<std::string_view> expiration);

// `permission_denied` with envd's words if it is missing, wrong or expired. The texts are those of the query.
Status check_signature(const SignedUse& use, std::string_view token, std::optional<std::string_view> signature,
                       std::optional<std::string_view> expiration, WallTime now);

}  // namespace cloche::dialect::e2b
