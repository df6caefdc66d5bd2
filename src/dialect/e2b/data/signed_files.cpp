#include "dialect/e2b/data/signed_files.hpp"

#include <algorithm>

#include "dialect/e2b/envd/signature.hpp"
#include "dialect/e2b/keys.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::size_t signature_length = 46;

}  // namespace

bool StepBudget::take(std::size_t steps) {
  const SteadyTime now = clock_();
  const double gained = std::chrono::duration<double>(now - filled_).count() * per_second_;
  filled_ = now;
  left_ = std::min(per_second_, left_ + gained);
  // A single request may cost more than a second's worth, if nothing else was asked for.
  const double cost = std::min(static_cast<double>(steps), per_second_);
  if (left_ < cost) return false;
  left_ -= cost;
  return true;
}

std::optional<SignedUrl> read_signed_url(std::string_view method, const http::Query& query) {
  SignedUrl url;
  const auto signature = query.find("signature");
  const auto path = query.find("path");
  if (!signature || signature->size() != signature_length || !signature->starts_with("v1_") || !path) {
    return std::nullopt;
  }
  url.signature = *signature;
  url.path = *path;
  url.operation = method == "POST" ? "write" : "read";
  url.user = query.find("username").value_or("");
  if (const auto expires = query.find("signature_expiration"); expires && !expires->empty()) url.expires = *expires;
  return url;
}

SandboxPtr find_signed(const Sandboxes& sandboxes, const SignedUrl& url) {
  const SignedUse use{.path = url.path, .operation = url.operation, .user = url.user};
  for (const auto& [id, sandbox] : sandboxes.all()) {
    const bool fits = !sandbox->access_token.empty() &&
                      is_same_token(url.signature, sign_use(use, sandbox->access_token, url.expires));
    if (fits && sandboxes.info(*sandbox)) return sandbox;
  }
  return nullptr;
}

}  // namespace cloche::dialect::e2b
