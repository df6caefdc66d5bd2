// Principal: the authenticated caller. What a principal may do is decided here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace cloche::auth {

enum class Role { user, admin };

std::string_view to_string(Role role);
// nullopt for any other word; words are compared as they are written.
std::optional<Role> parse_role(std::string_view word);

struct Principal {
  std::string tenant;
  Role role = Role::user;
  std::string token_id;  // for logs: which token it was, never a part of its secret; empty without a token

  bool operator==(const Principal&) const = default;
};

// A tenant that a caller was found to be authorized for. Only such tenants have quotas and sessions, so an
// unauthenticated caller leaves no trace.
class AuthorizedTenant {
 public:
  const std::string& name() const { return name_; }

  // The tenant of a session that an earlier server process authorized and recorded.
  static Result<AuthorizedTenant> of_record(std::string name);

 private:
  friend Result<AuthorizedTenant> authorize_tenant(const Principal&, std::optional<std::string_view>);
  explicit AuthorizedTenant(std::string name) : name_(std::move(name)) {}

  std::string name_;
};

// The tenant that a request is for: `wanted`, if the request names one, else the principal's own. `permission_denied`
// for a user that names another tenant; an admin may name any. An invalid name is `invalid_argument`.
Result<AuthorizedTenant> authorize_tenant(const Principal& principal, std::optional<std::string_view> wanted);

// `permission_denied` unless an admin.
Status require_admin(const Principal& principal);

}  // namespace cloche::auth
