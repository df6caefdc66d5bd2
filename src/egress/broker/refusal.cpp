#include "egress/broker/refusal.hpp"

namespace cloche::egress {

std::string Refusal::text() const {
  if (outcome != Outcome::denied || status != 403) return "egress: " + reason;
  const std::string by = rule.empty() ? "" : " (rule `" + rule + "`)";
  return "egress denied: " + reason + by + "; the network policy of this sandbox would have to allow it";
}

std::uint8_t Refusal::socks_code() const {
  if (outcome == Outcome::denied) return status == 400 ? 1 : 2;  // general failure; not allowed by the rules
  if (outcome == Outcome::over_quota) return 1;
  return status == 504 ? 6 : 4;  // expired on the way; host unreachable
}

Refusal Refusal::denied(Decision decision) {
  return {.outcome = Outcome::denied, .status = 403, .reason = decision.reason, .rule = decision.rule};
}

Refusal Refusal::invalid(std::string reason) {
  return {.outcome = Outcome::denied, .status = 400, .reason = std::move(reason), .rule = {}};
}

Refusal Refusal::over_quota(std::string reason) {
  return {.outcome = Outcome::over_quota, .status = 429, .reason = std::move(reason), .rule = {}};
}

Refusal Refusal::failed(const Error& error) {
  if (error.code == ErrorCode::limit_reached) return over_quota(error.message);
  const unsigned status = error.code == ErrorCode::timeout ? 504 : error.code == ErrorCode::internal ? 500 : 502;
  return {.outcome = Outcome::failed, .status = status, .reason = error.message, .rule = {}};
}

}  // namespace cloche::egress
