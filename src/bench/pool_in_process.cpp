#include "bench/pool_in_process.hpp"

#include "bench/interrupt.hpp"
#include "core/async/event.hpp"
#include "core/ids.hpp"
#include "host/backends.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto patience = 300s;
constexpr const char* profile_name = "box";

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(Surroundings& surroundings, const Target& target) {
  const auto place = surroundings.make_directory("backend-" + target.backend + "-" + target.runtime);
  EngineOptions options;
  CLOCHE_TRY(options.backend, parse_backend(target.backend));
  options.state_dir = place / "state";
  options.run_dir = place / "run";
  if (target.has_engine()) options.docker_host = surroundings.docker()->host;
  return cloche::make_backend(surroundings.executor(), surroundings.threads(), options,
                              InstanceId{"bench-" + random_hex(4)});
}

SandboxSpec sandbox_spec(const Surroundings& surroundings, const Target& target) {
  SandboxSpec spec;
  spec.runtime = target.runtime;
  if (target.has_engine()) spec.image = surroundings.docker()->image;
  spec.limits.cpus = 1;
  spec.limits.pids = 256;
  return spec;
}

Result<std::unique_ptr<PoolInProcess>> PoolInProcess::make(Surroundings& surroundings, const Target& target,
                                                           std::uint32_t size) {
  std::unique_ptr<PoolInProcess> made(new PoolInProcess(surroundings, size));
  CLOCHE_TRY(made->backend_, bench::make_backend(surroundings, target));
  ManagerOptions options;
  Profile profile;
  profile.name = profile_name;
  profile.sandbox = sandbox_spec(surroundings, target);
  profile.pool.pool_size = size;
  profile.pool.scale_limit = size;
  profile.pool.max_uses = 1'000'000;  // none is replaced meanwhile
  options.profiles.push_back(std::move(profile));
  CLOCHE_TRY(auto journal, pool::Journal::open_in_memory());
  CLOCHE_TRY(made->manager_, pool::Manager::create(surroundings.executor(), *made->backend_, std::move(journal),
                                                   std::move(options), pool::Tenancy::of_trusted_callers()));
  CLOCHE_CHECK(surroundings.await(made->manager_->start(Deadline::after(patience))));
  CLOCHE_CHECK(surroundings.await(made->until_idle()));
  return made;
}

PoolInProcess::~PoolInProcess() {
  if (!manager_) return;
  if (auto ended = surroundings_.await(manager_->shut_down()); !ended) {
    tell("bench: sandboxes are left: " + ended.error().message);
  }
}

Task<Result<pool::Lease>> PoolInProcess::claim() {
  ClaimOptions options;
  return manager_->acquire(profile_name, std::move(options));
}

Task<Status> PoolInProcess::until_idle() {
  const auto deadline = Deadline::after(patience);
  for (;;) {
    const PoolStats stats = manager_->stats().at(profile_name);
    if (stats.idle >= size_) co_return Status{};
    if (stats.create_failures > 3 && stats.idle == 0) {
      co_return fail(ErrorCode::unavailable, "creating its sandboxes fails; run `cloche doctor` for details");
    }
    if (deadline.passed()) co_return fail(ErrorCode::timeout, "its pool does not fill");
    CLOCHE_CO_CHECK(Interrupts::check());
    co_await pause_for(1ms);
  }
}

}  // namespace cloche::bench
