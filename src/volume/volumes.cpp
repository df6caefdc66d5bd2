#include "volume/volumes.hpp"

#include "core/async/blocking.hpp"
#include "core/async/event.hpp"

namespace cloche::volume {

namespace {

using namespace std::chrono_literals;

// How long a thread waits for a lock at a time, so that others get their turn.
constexpr auto one_turn = 50ms;
constexpr auto between_turns = 10ms;

}  // namespace

Volumes::Volumes(std::unique_ptr<VolumeStore> store, Support support) : store_(std::move(store)), support_(support) {}

Task<Result<VolumeInfo>> Volumes::create(VolumeId id, Bytes size, Allowance allowance, Deadline deadline) {
  if (support_ == Support::unavailable) {
    co_return fail(ErrorCode::unsupported, "sandboxes of this server cannot have volumes; use the backend oci");
  }
  auto work = [store = store_, id = std::move(id), size, allowance, token = CancelToken(deadline)] {
    return store->create(id, size, allowance, token);
  };
  co_return co_await run_blocking(threads_, std::move(work));
}

Task<Result<std::vector<VolumeInfo>>> Volumes::list(std::optional<std::string> tenant) {
  auto work = [store = store_, tenant = std::move(tenant)] { return store->list(tenant); };
  co_return co_await run_blocking(threads_, std::move(work));
}

Task<Result<VolumeInfo>> Volumes::find(VolumeId id) {
  auto work = [store = store_, id = std::move(id)] { return store->find(id); };
  co_return co_await run_blocking(threads_, std::move(work));
}

Task<Status> Volumes::remove(VolumeId id, Deadline deadline) {
  for (;;) {
    // A volume in use is refused at once; the kernel's lock is waited for.
    const UseCount uses = store_->uses_of(id);
    auto work = [store = store_, id, token = CancelToken(Deadline::after(one_turn).sooner(deadline))] {
      return store->remove(id, token);
    };
    auto removed = co_await run_blocking(threads_, std::move(work));
    const bool is_locked = !removed && removed.error().code == ErrorCode::limit_reached;
    if (!is_locked || uses.readers + uses.writers > 0 || deadline.passed()) co_return removed;
    co_await pause_for(between_turns);
  }
}

Task<Result<UniqueFd>> Volumes::mount(VolumeId id, Access access, Deadline deadline) {
  for (;;) {
    auto work = [store = store_, id, access, token = CancelToken(Deadline::after(one_turn).sooner(deadline))] {
      return store->mount(id, access, token);
    };
    auto mounted = co_await run_blocking(threads_, std::move(work));
    const bool is_locked = !mounted && mounted.error().code == ErrorCode::limit_reached;
    if (!is_locked || deadline.passed()) co_return mounted;
    co_await pause_for(between_turns);
  }
}

Task<Result<Prepared>> Volumes::prepare(std::vector<VolumeMount> volumes, Deadline deadline) {
  Prepared prepared;
  for (VolumeMount& each : volumes) {
    VolumeId id{each.tenant, each.name};
    CLOCHE_CO_TRY(Use use, store_->use(id, each.access));
    prepared.uses.push_back(std::move(use));
    auto mounted = co_await mount(std::move(id), each.access, deadline);
    if (!mounted) co_return fail(std::move(mounted).error());
    prepared.mounted.push_back({std::move(each), std::move(*mounted)});
  }
  co_return prepared;
}

std::vector<Use> Volumes::adopt(const std::vector<VolumeMount>& volumes) {
  std::vector<Use> uses;
  for (const VolumeMount& each : volumes) uses.push_back(store_->adopt_use({each.tenant, each.name}, each.access));
  return uses;
}

}  // namespace cloche::volume
