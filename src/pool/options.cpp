#include "pool/options.hpp"

#include <algorithm>

#include "sandbox/spec.hpp"

namespace cloche {

namespace {

constexpr std::uint32_t most_sandboxes = 10'000;
constexpr std::chrono::hours longest{24 * 365};

Status check_span(const char* name, std::chrono::milliseconds span) {
  if (span.count() > 0 && span <= longest) return {};
  return fail(ErrorCode::invalid_argument, std::string(name) + " must be greater than zero and at most a year");
}

}  // namespace

Status validate(const PoolOptions& options) {
  if (options.scale_limit < 1 || options.scale_limit > most_sandboxes) {
    return fail(ErrorCode::invalid_argument, "scale_limit must be between 1 and " + std::to_string(most_sandboxes));
  }
  if (options.pool_size > options.scale_limit) {
    return fail(ErrorCode::invalid_argument, "pool_size (" + std::to_string(options.pool_size) +
                                                 ") must not be above scale_limit (" +
                                                 std::to_string(options.scale_limit) + ")");
  }
  if (options.tenant_limit && *options.tenant_limit < 1) {
    return fail(ErrorCode::invalid_argument, "tenant_limit must be at least 1");
  }
  if (options.max_uses < 1) return fail(ErrorCode::invalid_argument, "max_uses must be at least 1");
  CLOCHE_CHECK(check_span("idle_timeout", options.idle_timeout));
  CLOCHE_CHECK(check_span("running_timeout", options.running_timeout));
  CLOCHE_CHECK(check_span("wait_timeout", options.wait_timeout));
  CLOCHE_CHECK(check_span("reset_timeout", options.reset_timeout));
  return check_span("health_interval", options.health_interval);
}

Status validate(const Profile& profile) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
  if (profile.name.empty() || profile.name.size() > 32 || !std::ranges::all_of(profile.name, is_plain)) {
    return fail(ErrorCode::invalid_argument,
                "a profile name must be letters, digits, '-' and '_', at most 32: '" + profile.name + "'");
  }
  auto valid = validate(profile.sandbox);
  if (valid) valid = validate(profile.pool);
  if (!valid) return fail(std::move(valid).error().at("profile '" + profile.name + "'"));
  return {};
}

}  // namespace cloche
