#include "server/egress_meter.hpp"

namespace cloche::server {

namespace {

class TenantMeter : public egress::Meter {
 public:
  TenantMeter(auth::Quotas& quotas, auth::AuthorizedTenant tenant) : quotas_(quotas), tenant_(std::move(tenant)) {}

  Result<std::shared_ptr<void>> admit_connection() override {
    // No new connection while the bytes of the others are too many.
    if (auto within = quotas_.count_egress_bytes(tenant_, 0); !within) return fail(static_cast<Error>(within.error()));
    auto ticket = quotas_.take(tenant_, auth::Quota::egress_connections);
    if (!ticket) return fail(static_cast<Error>(ticket.error()));
    return std::make_shared<auth::QuotaTicket>(std::move(*ticket));
  }

  Status admit_request() override { return status_of(quotas_.admit_egress_request(tenant_)); }

  Status count_bytes(std::uint64_t up, std::uint64_t down) override {
    return status_of(quotas_.count_egress_bytes(tenant_, up + down));
  }

 private:
  static Status status_of(const auth::WithinQuota<>& within) {
    if (within) return {};
    return fail(static_cast<Error>(within.error()));
  }

  auth::Quotas& quotas_;
  auth::AuthorizedTenant tenant_;
};

// Of a tenant whose name cannot be counted.
class ClosedMeter : public egress::Meter {
 public:
  explicit ClosedMeter(Error why) : why_(std::move(why)) {}
  Result<std::shared_ptr<void>> admit_connection() override { return fail(why_); }
  Status admit_request() override { return fail(why_); }
  Status count_bytes(std::uint64_t, std::uint64_t) override { return fail(why_); }

 private:
  Error why_;
};

}  // namespace

pool::MeterFactory egress_meters(auth::Quotas& quotas) {
  return [&quotas](const std::string& name) -> std::shared_ptr<egress::Meter> {
    auto tenant = auth::AuthorizedTenant::of_record(name);
    if (!tenant) return std::make_shared<ClosedMeter>(std::move(tenant).error());
    return std::make_shared<TenantMeter>(quotas, std::move(*tenant));
  };
}

}  // namespace cloche::server
