#include "auth/quotas.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "auth/names.hpp"

namespace cloche::auth {

namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

// The sweep is linear in the number of tenants: if there is no room, it is not repeated for each caller.
constexpr seconds sweep_when_full{1};
constexpr seconds sweep_anyway{60};

// Where a quota is counted, where its limit is, and when another try is worth it.
struct Counted {
  Quota quota;
  std::uint32_t TenantUse::* place;
  std::optional<std::uint32_t> QuotaLimits::* most;
  seconds retry_after;
};
constexpr std::array<Counted, 9> all_counted{{
    {Quota::sessions, &TenantUse::sessions, &QuotaLimits::sessions, seconds{5}},
    {Quota::runs, &TenantUse::runs, &QuotaLimits::runs, seconds{1}},
    {Quota::contexts, &TenantUse::contexts, &QuotaLimits::contexts, seconds{5}},
    {Quota::leases, &TenantUse::leases, &QuotaLimits::leases, seconds{5}},
    {Quota::calls, &TenantUse::calls, &QuotaLimits::calls, seconds{1}},
    {Quota::streams, &TenantUse::streams, &QuotaLimits::streams, seconds{5}},
    {Quota::connections, &TenantUse::connections, &QuotaLimits::connections, seconds{1}},
    {Quota::files, &TenantUse::files, &QuotaLimits::files, seconds{1}},
    {Quota::egress_connections, &TenantUse::egress_connections, &QuotaLimits::egress_connections, seconds{1}},
}};

const Counted& counted(Quota quota) { return *std::ranges::find(all_counted, quota, &Counted::quota); }

bool holds_nothing(const TenantUse& use) {
  return std::ranges::all_of(all_counted, [&](const Counted& each) { return use.*each.place == 0; });
}

nanoseconds interval_of(const Rate& rate) { return nanoseconds(static_cast<std::int64_t>(1e9 / rate.per_second)); }

OverQuota over(Quota quota, seconds retry_after, std::string message) {
  return {quota, std::max(retry_after, seconds{1}), std::move(message)};
}

std::unexpected<OverQuota> too_many_tenants() {
  return std::unexpected(over(Quota::tenants, seconds{5}, "too many tenants are using this server"));
}

Status check_rate(const std::optional<Rate>& given) {
  if (!given) return {};
  const Rate& rate = *given;
  // Written so that a NaN is refused.
  if (!(rate.per_second >= 0.001 && rate.per_second <= 1e6)) {
    return fail(ErrorCode::invalid_argument, "requests per second must be from 0.001 to 1000000");
  }
  if (rate.burst < 1 || rate.burst > 1'000'000) {
    return fail(ErrorCode::invalid_argument, "burst must be from 1 to 1000000 requests");
  }
  return {};
}

Status check_limits(const QuotaLimits& limits) {
  CLOCHE_CHECK(check_rate(limits.requests));
  return check_rate(limits.egress_requests);
}

}  // namespace

Status check_quotas(const QuotaOptions& options) {
  CLOCHE_CHECK(check_limits(options.limits));
  for (const auto& [tenant, limits] : options.named) {
    CLOCHE_CHECK(check_tenant(tenant));
    if (auto checked = check_limits(limits); !checked) return fail(std::move(checked).error().at("tenant " + tenant));
  }
  if (options.most_tenants == 0)
    return fail(ErrorCode::invalid_argument, "the number of remembered tenants must be at least 1");
  return {};
}

std::string_view to_string(Quota quota) {
  switch (quota) {
    case Quota::requests: return "requests";
    case Quota::sessions: return "sessions";
    case Quota::runs: return "runs";
    case Quota::contexts: return "contexts";
    case Quota::leases: return "leases";
    case Quota::calls: return "calls";
    case Quota::streams: return "streams";
    case Quota::connections: return "connections";
    case Quota::files: return "files";
    case Quota::egress_connections: return "egress connections";
    case Quota::egress_bytes: return "egress bytes";
    case Quota::egress_requests: return "egress requests";
    case Quota::tenants: return "tenants";
  }
  return "";
}

OverQuota::operator Error() const { return {ErrorCode::limit_reached, message}; }

QuotaTicket::QuotaTicket(std::shared_ptr<TenantUse> use, std::uint32_t TenantUse::* place)
    : use_(std::move(use)), place_(place) {
  ++((*use_).*place_);
}

QuotaTicket::QuotaTicket(QuotaTicket&& other) noexcept : use_(std::move(other.use_)), place_(other.place_) {}

QuotaTicket& QuotaTicket::operator=(QuotaTicket&& other) noexcept {
  if (this != &other) {
    give_back();
    use_ = std::move(other.use_);
    place_ = other.place_;
  }
  return *this;
}

void QuotaTicket::give_back() {
  if (!use_) return;
  --((*use_).*place_);
  use_.reset();
}

Quotas::Quotas(QuotaOptions options, SteadyClock clock) : options_(std::move(options)), clock_(std::move(clock)) {}

const QuotaLimits& Quotas::limits_of(std::string_view tenant) const {
  const auto found = options_.named.find(tenant);
  return found == options_.named.end() ? options_.limits : found->second;
}

void Quotas::forget_rested(SteadyTime now) {
  swept_ = now;
  std::erase_if(tenants_, [&](const auto& entry) {
    const TenantUse& use = *entry.second;
    return holds_nothing(use) && use.next_due <= now && use.next_egress_due <= now && use.bytes_due <= now;
  });
}

std::shared_ptr<TenantUse> Quotas::entry(const std::string& tenant) {
  const SteadyTime now = clock_();
  if (!swept_) swept_ = now;
  if (now - *swept_ >= sweep_anyway) forget_rested(now);
  if (const auto found = tenants_.find(tenant); found != tenants_.end()) return found->second;
  if (tenants_.size() >= options_.most_tenants && now - *swept_ >= sweep_when_full) forget_rested(now);
  if (tenants_.size() >= options_.most_tenants) return nullptr;
  return tenants_.emplace(tenant, std::make_shared<TenantUse>()).first->second;
}

// A token bucket, kept as one moment instead of a level: each request moves `next_due` by an interval, and it may be
// ahead of now by as many intervals as the bucket has tokens. Whole nanoseconds do not drift.
WithinQuota<> Quotas::admit(const std::string& tenant, Quota quota, const std::optional<Rate>& rate,
                            SteadyTime TenantUse::* next_due) {
  if (!rate) return {};
  const auto use = entry(tenant);
  if (!use) return too_many_tenants();
  const SteadyTime now = clock_();
  const nanoseconds interval = interval_of(*rate);
  const SteadyTime due = std::max((*use).*next_due, now);
  const SteadyTime earliest = due - interval * (rate->burst - 1);
  if (earliest > now) {
    return std::unexpected(
        over(quota, std::chrono::ceil<seconds>(earliest - now),
             "quota reached: the tenant's rate of " + std::string(to_string(quota)) + "; retry later"));
  }
  (*use).*next_due = due + interval;
  return {};
}

WithinQuota<> Quotas::admit_request(const Principal& principal) {
  return admit(principal.tenant, Quota::requests, limits_of(principal.tenant).requests, &TenantUse::next_due);
}

WithinQuota<> Quotas::admit_egress_request(const AuthorizedTenant& tenant) {
  return admit(tenant.name(), Quota::egress_requests, limits_of(tenant.name()).egress_requests,
               &TenantUse::next_egress_due);
}

// The same bucket, which holds a minute's bytes.
WithinQuota<> Quotas::count_egress_bytes(const AuthorizedTenant& tenant, std::uint64_t bytes) {
  constexpr nanoseconds window = std::chrono::minutes(1);
  const std::optional<std::uint64_t>& most = limits_of(tenant.name()).egress_bytes;
  if (!most) return {};
  const auto use = entry(tenant.name());
  if (!use) return too_many_tenants();
  const SteadyTime now = clock_();
  // One piece of data never costs more than a long while, whatever the limit is.
  const double share =
      std::min(static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(*most, 1)), 60.0);
  use->bytes_due = std::max(use->bytes_due, now) + nanoseconds(static_cast<std::int64_t>(share * window.count()));
  if (*most > 0 && use->bytes_due - now <= window) return {};
  return std::unexpected(over(Quota::egress_bytes, std::chrono::ceil<seconds>(use->bytes_due - now - window),
                              "quota reached: the tenant's " + std::to_string(*most) +
                                  " bytes of connections to the outside in a minute; retry later"));
}

WithinQuota<QuotaTicket> Quotas::take(const AuthorizedTenant& tenant, Quota quota) {
  const Counted& kind = counted(quota);
  auto use = entry(tenant.name());
  if (!use) return too_many_tenants();
  const std::optional<std::uint32_t>& most = limits_of(tenant.name()).*kind.most;
  if (most && (*use).*kind.place >= *most) {
    const std::string name(to_string(quota));
    return std::unexpected(over(quota, kind.retry_after,
                                "quota reached: the tenant has " + std::to_string(*most) + " of " +
                                    std::to_string(*most) + " " + name + "; end some or retry later"));
  }
  return QuotaTicket(std::move(use), kind.place);
}

QuotaTicket Quotas::adopt(const AuthorizedTenant& tenant, Quota quota) {
  auto use = entry(tenant.name());
  if (!use) use = tenants_.emplace(tenant.name(), std::make_shared<TenantUse>()).first->second;
  return {std::move(use), counted(quota).place};
}

TenantUse Quotas::use_of(std::string_view tenant) const {
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? TenantUse{} : *found->second;
}

}  // namespace cloche::auth
