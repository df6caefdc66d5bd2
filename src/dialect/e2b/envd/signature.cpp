#include "dialect/e2b/envd/signature.hpp"

#include <charconv>

#include "core/base64.hpp"
#include "crypto/hmac.hpp"
#include "crypto/sha256.hpp"

namespace cloche::dialect::e2b {

std::string sign_use(const SignedUse& use, std::string_view token, std::optional<std::string_view> expiration) {
  std::string text;
  text.append(use.path).append(":").append(use.operation).append(":").append(use.user).append(":").append(token);
  if (expiration) text.append(":").append(*expiration);
  const Digest digest = sha256(text);
  std::string encoded = encode_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
  while (encoded.ends_with('=')) encoded.pop_back();
  return "v1_" + encoded;
}

Status check_signature(const SignedUse& use, std::string_view token, std::optional<std::string_view> signature,
                       std::optional<std::string_view> expiration, WallTime now) {
  if (!signature || signature->empty()) return fail(ErrorCode::permission_denied, "missing signature query parameter");
  if (expiration && expiration->empty()) expiration.reset();
  // Digests of both, so that neither their lengths nor their beginnings show in the time.
  const std::string expected = sign_use(use, token, expiration);
  if (!same_in_constant_time(sha256(expected), sha256(*signature)))
    return fail(ErrorCode::permission_denied, "invalid signature");
  if (!expiration) return {};
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(expiration->data(), expiration->data() + expiration->size(), seconds);
  if (error != std::errc() || end != expiration->data() + expiration->size())
    return fail(ErrorCode::permission_denied, "invalid signature");
  if (seconds < now.time_since_epoch().count())
    return fail(ErrorCode::permission_denied, "signature is already expired");
  return {};
}

}  // namespace cloche::dialect::e2b
