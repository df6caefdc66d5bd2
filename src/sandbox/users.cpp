#include "sandbox/users.hpp"

namespace cloche {

Result<SandboxUser> find_user(const SandboxSpec& spec, std::string_view name) {
  if (name.empty() || name == spec.user) {
    return SandboxUser{.name = spec.user, .uid = uid_of(spec), .gid = spec.gid, .home = home_of(spec)};
  }
  if (name == "root" && spec.root) return SandboxUser{.name = "root", .home = std::string(root_home)};
  if (name == "root") return fail(ErrorCode::not_found, "this sandbox has no root user for programs");
  return fail(ErrorCode::not_found, "this sandbox has no user '" + std::string(name) + "'");
}

}  // namespace cloche
