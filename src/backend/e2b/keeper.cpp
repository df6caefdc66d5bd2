#include "backend/e2b/keeper.hpp"

#include "core/async/event.hpp"
#include "core/log.hpp"

namespace cloche::e2b {

namespace {

// Uses nothing of the keeper, which may be gone while a call ends.
Task<> prolong(Remote remote, Keeper::Times times) {
  bool is_failing = false;
  for (;;) {
    co_await pause_for(is_failing ? times.retry : times.interval);
    auto prolonged = co_await remote.control->set_lifetime(remote.id, static_cast<std::uint32_t>(lifetime.count()),
                                                           Deadline::after(times.attempt));
    if (prolonged) {
      if (is_failing) log::info("sandbox {}: its life is prolonged again", remote.sandbox);
      is_failing = false;
      continue;
    }
    // The link to its agent finds out that it is gone.
    if (prolonged.error().code == ErrorCode::not_found) co_return;
    if (!is_failing) {
      log::warn("sandbox {}: cannot prolong its life, retrying; E2B ends it in less than {} s: {}", remote.sandbox,
                lifetime.count(), prolonged.error().message);
    }
    is_failing = true;
  }
}

}  // namespace

Keeper::Keeper(const Remote& remote, Times times) : tasks_(remote.executor) {
  tasks_.spawn("prolong the life of sandbox " + remote.sandbox, [remote, times] { return prolong(remote, times); });
}

}  // namespace cloche::e2b
