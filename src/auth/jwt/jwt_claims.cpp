#include "auth/jwt/jwt_claims.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cmath>

#include "auth/names.hpp"
#include "core/utc_time.hpp"
#include "json/members.hpp"
#include "json/strict_json.hpp"

namespace cloche::auth {

namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr std::size_t deepest_claims = 16;
constexpr seconds most_leeway{300};

json::string_view as_key(std::string_view name) { return {name.data(), name.size()}; }

// Seconds since 1970, whole or not, within what the calendar here reaches; nullopt for anything else.
std::optional<WallTime> time_of(const json::value& value) {
  const auto latest = static_cast<double>(latest_time.time_since_epoch().count());
  double number = -1;
  if (value.is_int64()) {
    number = static_cast<double>(value.get_int64());
  } else if (value.is_double()) {
    number = value.get_double();
  }
  // Written so that a NaN is refused.
  if (!(number >= 0 && number <= latest)) return std::nullopt;
  return WallTime(seconds(static_cast<std::int64_t>(std::floor(number))));
}

bool is_for(const json::object& claims, std::string_view audience) {
  const json::value* value = claims.if_contains("aud");
  if (!value) return false;
  const auto is_it = [&](const json::value& name) { return name.is_string() && name.get_string() == as_key(audience); };
  if (const json::array* names = value->if_array()) {
    return std::ranges::all_of(*names, [](const json::value& name) { return name.is_string(); }) &&
           std::ranges::any_of(*names, is_it);
  }
  return is_it(*value);
}

Authenticated<void> check_times(const json::object& claims, seconds leeway, WallTime now) {
  const json::value* expiry = claims.if_contains("exp");
  const auto expires = expiry ? time_of(*expiry) : std::nullopt;
  if (!expires) return refuse(Reason::wrong_claims, "JWT: `exp` is missing or is not a valid time");
  if (now >= *expires + leeway) return refuse(Reason::expired);
  for (const char* name : {"nbf", "iat"}) {
    const json::value* value = claims.if_contains(name);
    if (!value) continue;
    const auto time = time_of(*value);
    if (!time) return refuse(Reason::wrong_claims, "JWT: `" + std::string(name) + "` is not a valid time");
    if (now < *time - leeway) return refuse(Reason::not_yet_valid);
  }
  return {};
}

}  // namespace

Status check_rules(const ClaimRules& rules) {
  const auto bad = [](std::string_view what) { return fail(ErrorCode::invalid_argument, "JWT: " + std::string(what)); };
  if (rules.issuer.empty()) return bad("issuer is required");
  if (rules.audience.empty()) return bad("audience is required");
  if (rules.tenant_claim.empty() || rules.role_claim.empty()) return bad("claim name is empty");
  if (rules.tenant_claim == rules.role_claim) return bad("tenant and role must be different claims");
  if (rules.leeway < seconds{0} || rules.leeway > most_leeway) return bad("leeway must be from 0 to 300 s");
  return {};
}

Authenticated<Principal> principal_of(std::string_view claims_text, const ClaimRules& rules, WallTime now,
                                      std::string_view fallback_id) {
  const auto claims = parse_strict_object(claims_text, deepest_claims);
  if (!claims) return refuse(Reason::malformed, "JWT: claims: " + claims.error().message);
  if (text_member(*claims, "iss") != rules.issuer) return refuse(Reason::wrong_claims, "JWT: wrong issuer");
  if (!is_for(*claims, rules.audience)) return refuse(Reason::wrong_claims, "JWT: wrong audience");
  CLOCHE_CHECK(check_times(*claims, rules.leeway, now));

  const auto tenant = text_member(*claims, rules.tenant_claim);
  if (!tenant || !is_valid_name(*tenant)) {
    return refuse(Reason::wrong_claims, "JWT: the tenant claim is missing or is not a valid tenant name");
  }
  Principal principal{.tenant = std::string(*tenant), .role = Role::user, .token_id = std::string(fallback_id)};
  if (claims->contains(as_key(rules.role_claim))) {
    const auto role = parse_role(text_member(*claims, rules.role_claim).value_or(""));
    if (!role) return refuse(Reason::wrong_claims, "JWT: the role claim must be user or admin");
    principal.role = *role;
  }
  const auto id = text_member(*claims, "jti");
  if (id && is_valid_name(*id)) principal.token_id = *id;
  return principal;
}

}  // namespace cloche::auth
