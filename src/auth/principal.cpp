#include "auth/principal.hpp"

#include "auth/names.hpp"

namespace cloche::auth {

std::string_view to_string(Role role) { return role == Role::admin ? "admin" : "user"; }

std::optional<Role> parse_role(std::string_view word) {
  if (word == "user") return Role::user;
  if (word == "admin") return Role::admin;
  return std::nullopt;
}

Result<AuthorizedTenant> AuthorizedTenant::of_record(std::string name) {
  CLOCHE_CHECK(check_tenant(name));
  return AuthorizedTenant(std::move(name));
}

Result<AuthorizedTenant> authorize_tenant(const Principal& principal, std::optional<std::string_view> wanted) {
  if (!wanted || *wanted == principal.tenant) {
    CLOCHE_CHECK(check_tenant(principal.tenant));
    return AuthorizedTenant(principal.tenant);
  }
  // First the right, then the name: a user learns nothing about what other names there could be.
  if (principal.role != Role::admin) {
    return fail(ErrorCode::permission_denied, "the token belongs to a different tenant than the request");
  }
  CLOCHE_CHECK(check_tenant(*wanted));
  return AuthorizedTenant(std::string(*wanted));
}

Status require_admin(const Principal& principal) {
  if (principal.role == Role::admin) return {};
  return fail(ErrorCode::permission_denied, "this requires a token with the role admin");
}

}  // namespace cloche::auth
