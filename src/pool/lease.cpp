#include "pool/lease.hpp"

#include "pool/warm_pool.hpp"

namespace cloche::pool {

void Binding::apply_to(ExecSpec& spec) const {
  for (const auto& [name, value] : env) spec.env.emplace(name, value);
  if (spec.cwd.empty()) spec.cwd = work_dir;
}

Lease::Lease(std::weak_ptr<WarmPool> pool, SlotId slot, ClaimId claim, std::shared_ptr<LiveSandbox> sandbox,
             Binding binding)
    : pool_(std::move(pool)), slot_(slot), claim_(claim), sandbox_(std::move(sandbox)), binding_(std::move(binding)) {}

Lease::Lease(Lease&& other) noexcept
    : pool_(std::move(other.pool_)),
      slot_(std::exchange(other.slot_, 0)),
      claim_(std::exchange(other.claim_, 0)),
      sandbox_(std::move(other.sandbox_)),
      binding_(std::move(other.binding_)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  pool_ = std::move(other.pool_);
  slot_ = std::exchange(other.slot_, 0);
  claim_ = std::exchange(other.claim_, 0);
  sandbox_ = std::move(other.sandbox_);
  binding_ = std::move(other.binding_);
  return *this;
}

Task<Result<std::unique_ptr<Exec>>> Lease::start(ExecSpec spec, Deadline deadline) {
  const auto sandbox = sandbox_;
  binding_.apply_to(spec);
  auto started = co_await sandbox->start(std::move(spec), deadline);
  co_return started;
}

Task<Result<Exec::Collected>> Lease::run(ExecSpec spec, Deadline deadline) {
  const auto sandbox = sandbox_;
  binding_.apply_to(spec);
  auto ran = co_await sandbox->run(std::move(spec), deadline);
  co_return ran;
}

Task<Status> Lease::change_network(Binding binding, Deadline deadline) {
  const auto sandbox = sandbox_;
  const auto pool = pool_.lock();
  if (!pool) co_return fail(ErrorCode::sandbox_lost, "the pool is gone");
  CLOCHE_CO_CHECK(co_await pool->set_network(slot_, claim_, binding.network, deadline));
  binding_ = std::move(binding);
  co_return Status{};
}

std::shared_ptr<egress::Books> Lease::egress_books() const {
  const auto pool = pool_.lock();
  return pool ? pool->egress_books(slot_, claim_) : nullptr;
}

FilePath Lease::place(std::string path) const {
  if (path.starts_with('/')) return FilePath(std::move(path));
  return FilePath::beneath(binding_.work_dir, std::move(path));
}

bool Lease::give_back() {
  const auto sandbox = std::exchange(sandbox_, nullptr);
  if (!sandbox) return false;
  const auto pool = pool_.lock();
  return pool && pool->give_back(slot_, claim_);
}

bool Lease::destroy() {
  const auto sandbox = std::exchange(sandbox_, nullptr);
  if (!sandbox) return false;
  const auto pool = pool_.lock();
  return pool && pool->destroy(slot_, claim_);
}

}  // namespace cloche::pool
