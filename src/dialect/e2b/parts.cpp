#include "dialect/e2b/parts.hpp"

namespace cloche::dialect::e2b {

auth::Authenticated<void> check_api_key(const Parts& parts, const Sandbox& sandbox) {
  const std::string& id = sandbox.attributes.api_key;
  if (id.empty()) return {};
  auto principal = parts.around.authenticator.principal_of(id);
  if (!principal) return std::unexpected(std::move(principal).error());
  if (principal->tenant != sandbox.tenant.name()) return auth::refuse(auth::Reason::unknown);
  return {};
}

Task<Status> resume(Parts& parts, Sandbox& sandbox, std::chrono::seconds timeout, Deadline deadline) {
  auto resumed = co_await parts.around.sessions.resume(sandbox.tenant, sandbox.id, deadline);
  if (!resumed) co_return fail(std::move(resumed).error());
  // After a crash here, Sandboxes::start gives it an end.
  auto ends = co_await parts.around.sessions.set_expiry(sandbox.tenant, sandbox.id,
                                                        std::chrono::system_clock::now() + timeout, deadline);
  if (!ends) co_return fail(std::move(ends).error());
  sandbox.log.add("info", "sandbox resumed");
  co_return Status{};
}

}  // namespace cloche::dialect::e2b
