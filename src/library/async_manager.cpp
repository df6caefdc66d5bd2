#include "library/async_manager.hpp"

#include "library/throwing.hpp"

namespace cloche::async {

namespace {

constexpr std::chrono::seconds start_timeout{120};

Result<std::unique_ptr<pool::Journal>> open_journal(const InstanceDir* dir) {
  // The sandboxes of an ephemeral instance end with it: the next instance removes all of them.
  if (dir == nullptr) return pool::Journal::open_in_memory();
  return pool::Journal::open(dir->journal(), dir->id().value);
}

}  // namespace

Manager::Impl::Impl(boost::asio::any_io_executor executor, ManagerOptions options) {
  engine = std::make_shared<Engine::Impl>(executor, options.engine, options);
  auto journal = value_or_throw(open_journal(engine->dir.get()));
  pools = value_or_throw(pool::Manager::create(executor, *engine->made, std::move(journal), std::move(options),
                                               pool::Tenancy::of_trusted_callers()));
}

Lease::Lease() = default;
Lease::Lease(Sandbox sandbox) : sandbox_(std::move(sandbox)) {}

bool Lease::give_back() { return sandbox_.impl() != nullptr && async::give_back(*sandbox_.impl()); }
bool Lease::destroy() { return sandbox_.impl() != nullptr && destroy_lent(*sandbox_.impl()); }

Manager::Manager(boost::asio::any_io_executor executor, ManagerOptions options)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(options))) {}
Manager::Manager(Manager&&) noexcept = default;
Manager::~Manager() = default;

Task<> Manager::start() {
  const auto impl = impl_;
  co_await impl->engine->backend();  // sweeps what killed processes left behind
  auto started = co_await impl->pools->start(Deadline::after(start_timeout));
  value_or_throw(std::move(started));
}

Task<Lease> Manager::acquire(std::string profile) {
  ClaimOptions options;
  return acquire(std::move(profile), std::move(options));
}

Task<Lease> Manager::acquire(std::string profile, ClaimOptions options) {
  const auto impl = impl_;
  const auto pool = value_or_throw(impl->pools->find(profile));
  auto claimed = co_await impl->pools->acquire(std::move(profile), std::move(options));
  auto lease = value_or_throw(std::move(claimed));
  co_return Lease(wrap(impl->engine, std::move(lease), pool.get()));
}

Task<std::shared_ptr<Sandbox>> Manager::get(std::string profile) {
  ClaimOptions options;
  return get(std::move(profile), std::move(options));
}

Task<std::shared_ptr<Sandbox>> Manager::get(std::string profile, ClaimOptions options) {
  Lease lease = co_await acquire(std::move(profile), std::move(options));
  co_return std::make_shared<Sandbox>(std::move(*lease));
}

Returned Manager::release(const std::string& profile, const std::shared_ptr<Sandbox>& sandbox) {
  const auto pool = value_or_throw(impl_->pools->find(profile));
  if (Impl::lender_of(sandbox) != pool.get()) return Returned::foreign;
  return give_back(*sandbox->impl()) ? Returned::now : Returned::already;
}

Returned Manager::destroy(const std::string& profile, const std::shared_ptr<Sandbox>& sandbox) {
  const auto pool = value_or_throw(impl_->pools->find(profile));
  if (Impl::lender_of(sandbox) != pool.get()) return Returned::foreign;
  return destroy_lent(*sandbox->impl()) ? Returned::now : Returned::already;
}

std::vector<std::string> Manager::profiles() const {
  std::vector<std::string> names;
  for (const auto& [name, stats] : impl_->pools->stats()) names.push_back(name);
  return names;
}

std::map<std::string, PoolStats> Manager::stats() const { return impl_->pools->stats(); }

void Manager::resize(const std::string& profile, PoolOptions options) {
  const auto pool = value_or_throw(impl_->pools->find(profile));
  value_or_throw(pool->resize(options));
}

Task<> Manager::shutdown() {
  const auto impl = impl_;
  auto ended = co_await impl->pools->shut_down();
  value_or_throw(std::move(ended));
  if (impl->engine->dir) impl->engine->dir->leave_nothing();
}

void Manager::hasten() { impl_->pools->hasten(); }

}  // namespace cloche::async
