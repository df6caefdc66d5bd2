#include "api/leases/lease_registry.hpp"

#include "core/fault_point.hpp"
#include "core/ids.hpp"

namespace cloche::api {

namespace {

constexpr std::uint16_t app_port = 8000;

Error no_such_lease() { return {ErrorCode::not_found, "Sandbox not found"}; }

// The words that clients of this interface look for.
Error autograder_message(Error error, const pool::WarmPool& pool, const std::string& language,
                         const std::string& tenant) {
  if (error.code != ErrorCode::limit_reached) return error;
  const PoolStats stats = pool.stats();
  const bool is_shared = pool.tenant_limit() < stats.scale_limit;
  if (is_shared && pool.lent_to(tenant) >= pool.tenant_limit()) {
    error.message = "No idle sandboxes available for language " + language + ": " + error.message;
    return error;
  }
  error.message = "No idle sandboxes available for language " + language + ". All " + std::to_string(stats.total) +
                  " sandboxes are busy (scale_limit: " + std::to_string(stats.scale_limit) + ")";
  return error;
}

}  // namespace

Task<Result<std::string>> LeaseRegistry::lend(Language language, std::string tenant,
                                              std::optional<NetworkPolicy> network, auth::QuotaTicket ticket) {
  forget_ended();
  CLOCHE_CO_TRY(const auto place, runner::StepPool::find(runner_.manager(), language, tenant));
  CLOCHE_CO_TRY(const auto pool, runner_.manager().find(place.profile));
  ClaimOptions options;
  options.tenant = tenant;
  options.at_limit = AtLimit::fail;
  options.network = std::move(network);
  auto lease = co_await pool->claim(std::move(options));
  if (!lease) co_return fail(autograder_message(std::move(lease).error(), *pool, language.name, tenant));
  CLOCHE_CO_CHECK(fallible_point<"service.lease">());
  auto entry = std::make_shared<Entry>();
  entry->container =
      std::make_unique<runner::Container>(lease->shared(), lease->binding(), runner_.languages(), language, app_port);
  entry->ticket = std::move(ticket);
  entry->lease = std::move(*lease);
  entry->language = language.name;
  entry->tenant = std::move(tenant);
  std::string id = random_hex(16);
  entries_.emplace(id, std::move(entry));
  co_return id;
}

Result<std::shared_ptr<LeaseRegistry::Entry>> LeaseRegistry::find(const std::string& id, const std::string& tenant) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second->tenant != tenant || !found->second->lease) return fail(no_such_lease());
  return found->second;
}

Result<std::shared_ptr<LeaseRegistry::Entry>> LeaseRegistry::take_out(const std::string& id,
                                                                      const std::string& tenant) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second->tenant != tenant) return fail(no_such_lease());
  auto entry = std::move(found->second);
  entries_.erase(found);
  return entry;
}

Status LeaseRegistry::give_back(const std::string& id, const std::string& tenant) {
  CLOCHE_TRY(const auto entry, take_out(id, tenant));
  entry->lease.give_back();
  entry->ticket.give_back();
  return {};
}

Status LeaseRegistry::destroy(const std::string& id, const std::string& tenant) {
  CLOCHE_TRY(const auto entry, take_out(id, tenant));
  entry->lease.destroy();
  entry->ticket.give_back();
  return {};
}

void LeaseRegistry::forget_ended() {
  std::erase_if(entries_, [](const auto& entry) { return entry.second->lease->lost().has_value(); });
}

}  // namespace cloche::api
