#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <optional>

#include "core/log.hpp"
#include "library/async_handles.hpp"
#include "library/blocking_handles.hpp"
#include "library/blocking_manager.hpp"

namespace cloche {

namespace asio = boost::asio;

Manager::Impl::~Impl() {
  loop.wait_for([this] { return tasks.shut_down(); });
}

async::Task<int> Manager::Impl::shut_down_at_signal() {
  asio::signal_set signals(loop.io(), SIGTERM, SIGINT);
  const int number = co_await signals.async_wait(asio::use_awaitable);
  log::info("signal {}: shutting down the pools; send another signal to stop at once", number);
  signals.async_wait([this](boost::system::error_code error, int) {
    if (!error) manager.hasten();
  });
  try {
    co_await manager.shutdown();
  } catch (const std::exception& error) {
    log::error("{}", error.what());
  }
  co_return number;
}

std::shared_ptr<Sandbox> Manager::Impl::hold(std::shared_ptr<Impl> self, async::Sandbox lent) {
  auto impl = std::make_unique<Sandbox::Impl>();
  impl->owner = std::move(self);
  impl->loop = &loop;
  impl->is_lent = true;
  impl->sandbox = std::make_unique<async::Sandbox>(std::move(lent));
  return std::make_shared<Sandbox>(std::move(impl));
}

bool Sandbox::Impl::give_back() {
  return loop->wait_for([this]() -> async::Task<bool> { co_return async::give_back(*sandbox->impl()); });
}

bool Sandbox::Impl::destroy_lent() {
  return loop->wait_for([this]() -> async::Task<bool> { co_return async::destroy_lent(*sandbox->impl()); });
}

bool Lease::give_back() { return sandbox_.impl() != nullptr && sandbox_.impl()->give_back(); }
bool Lease::destroy() { return sandbox_.impl() != nullptr && sandbox_.impl()->destroy_lent(); }

Manager::Manager(ManagerOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {
  impl_->loop.wait_for([this] { return impl_->manager.start(); });
}
Manager::Manager(Manager&&) noexcept = default;
Manager::~Manager() {
  if (!impl_) return;
  try {
    shutdown();
  } catch (const std::exception& error) {
    log::error("{}", error.what());
  }
}

Lease Manager::acquire(const std::string& profile, ClaimOptions options) {
  return Lease(std::move(*get(profile, std::move(options))));
}

std::shared_ptr<Sandbox> Manager::get(const std::string& profile, ClaimOptions options) {
  auto lease = impl_->loop.wait_for(
      [this, &profile, options = std::move(options)]() { return impl_->manager.acquire(profile, options); });
  return impl_->hold(impl_, std::move(*lease));
}

namespace {

Returned to_blocking(async::Returned returned) {
  switch (returned) {
    case async::Returned::now: return Returned::now;
    case async::Returned::already: return Returned::already;
    case async::Returned::foreign: break;
  }
  return Returned::foreign;
}

}  // namespace

Returned Manager::release(const std::string& profile, const std::shared_ptr<Sandbox>& sandbox) {
  // The manager of coroutines knows its own by what stands behind them.
  const auto lent = sandbox && sandbox->impl() != nullptr ? sandbox->impl()->sandbox.get() : nullptr;
  const std::shared_ptr<async::Sandbox> view(std::shared_ptr<void>(), lent);
  return to_blocking(impl_->on_loop([&] { return impl_->manager.release(profile, view); }));
}

Returned Manager::destroy(const std::string& profile, const std::shared_ptr<Sandbox>& sandbox) {
  const auto lent = sandbox && sandbox->impl() != nullptr ? sandbox->impl()->sandbox.get() : nullptr;
  const std::shared_ptr<async::Sandbox> view(std::shared_ptr<void>(), lent);
  return to_blocking(impl_->on_loop([&] { return impl_->manager.destroy(profile, view); }));
}

std::vector<std::string> Manager::profiles() const {
  return impl_->on_loop([this] { return impl_->manager.profiles(); });
}

std::map<std::string, PoolStats> Manager::stats() const {
  return impl_->on_loop([this] { return impl_->manager.stats(); });
}

void Manager::resize(const std::string& profile, PoolOptions options) {
  impl_->on_loop([&] {
    impl_->manager.resize(profile, options);
    return true;
  });
}

void Manager::shutdown() {
  impl_->loop.wait_for([this] { return impl_->manager.shutdown(); });
}

int Manager::run_until_signalled() {
  return impl_->loop.wait_for([this] { return impl_->shut_down_at_signal(); });
}

void Manager::shutdown_on_signals() {
  impl_->on_loop([this] {
    impl_->tasks.spawn("shutdown at a signal", [impl = impl_.get()]() -> async::Task<> {
      const int number = co_await impl->shut_down_at_signal();
      std::signal(number, SIG_DFL);
      std::raise(number);
    });
    return true;
  });
}

}  // namespace cloche
