#include "dialect/e2b/control/templates.hpp"

#include "core/file_error.hpp"
#include "dialect/e2b/control/bodies.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::string_view interpreter_template = "code-interpreter-v1";

// The profile that a name means, whether it exists or not.
std::string profile_named(const Parts& parts, const std::string& name) {
  if (const auto found = parts.settings.templates.find(name); found != parts.settings.templates.end()) {
    return found->second;
  }
  return name == interpreter_template ? base_profile : name;
}

}  // namespace

Task<Result<Template>> find_template(Parts& parts, auth::AuthorizedTenant tenant, std::string wanted) {
  Template found;
  CLOCHE_CO_TRY(found.id, template_alias(wanted));
  if (const auto pool = parts.around.pools.find_for(tenant.name(), profile_named(parts, found.id))) {
    found.profile = (*pool)->profile().name;
    co_return found;
  }
  auto snapshot = co_await parts.around.snapshots.find(tenant, found.id);
  if (!snapshot) {
    if (snapshot.error().code != ErrorCode::not_found) co_return fail(std::move(snapshot).error());
    co_return fail(ErrorCode::not_found, "template '" + cloche::shown(wanted) + "' not found");
  }
  const auto pool = parts.around.pools.find_for(tenant.name(), snapshot->profile);
  if (!pool) {
    co_return fail(ErrorCode::not_found, "template '" + cloche::shown(wanted) + "' not found: its profile '" +
                                             snapshot->profile + "' does not exist any more");
  }
  found.id = snapshot->id;
  found.profile = (*pool)->profile().name;
  found.snapshot = snapshot->id;
  co_return found;
}

}  // namespace cloche::dialect::e2b
