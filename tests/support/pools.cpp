#include "support/pools.hpp"

#include "support/eventually.hpp"

namespace cloche {

Profile Pools::profile(std::uint32_t size, std::uint32_t limit) const {
  Profile profile;
  profile.name = "box";
  profile.sandbox = testing_support::spec_for(target());
  profile.pool.pool_size = size;
  profile.pool.scale_limit = limit;
  profile.pool.wait_timeout = 60s;
  profile.pool.reset_timeout = 20s;  // a machine under test is slow
  return profile;
}

ManagerOptions Pools::with(Profile profile) {
  ManagerOptions options;
  options.profiles.push_back(std::move(profile));
  options.drain_timeout = 10s;
  return options;
}

void Pools::in_manager(ManagerOptions options, std::function<Task<>(pool::Manager&)> body) {
  run([&]() -> Task<> {
    auto journal = pool::Journal::open((scratch_.path() / "journal.db").string());
    EXPECT_TRUE(journal) << journal.error().message;
    if (!journal) co_return;
    auto made = pool::Manager::create(io_.get_executor(), *backend_, std::move(*journal), options,
                                      pool::Tenancy::of_trusted_callers());
    EXPECT_TRUE(made) << made.error().message;
    if (!made) co_return;
    const auto manager = std::move(*made);
    auto started = co_await manager->start(Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    std::exception_ptr thrown;
    try {
      if (started) co_await body(*manager);
    } catch (...) {
      thrown = std::current_exception();
    }
    auto ended = co_await manager->shut_down();
    EXPECT_TRUE(ended) << ended.error().message;
    for (const auto& [name, stats] : manager->stats()) EXPECT_EQ(stats.total, 0u) << name;
    if (thrown) std::rethrow_exception(thrown);
  });
}

Task<pool::Lease> lend(pool::Manager& manager, ClaimOptions options) {
  auto lease = co_await manager.acquire("box", std::move(options), Deadline::after(100s));
  EXPECT_TRUE(lease) << lease.error().message;
  if (!lease) throw std::runtime_error("no lease: " + lease.error().message);
  co_return std::move(*lease);
}

Task<pool::Lease> lend(pool::Manager& manager) {
  ClaimOptions options;
  return lend(manager, std::move(options));
}

Task<std::string> shell(pool::Lease& lease, std::string line) {
  ExecSpec spec = ExecSpec::shell(std::move(line));
  auto ran = co_await lease.run(std::move(spec), Deadline::after(100s));
  EXPECT_TRUE(ran) << ran.error().message;
  if (!ran) co_return std::string();
  co_return ran->out + ran->err;
}

Task<> eventually(std::string what, std::function<bool()> is_true) {
  const Deadline end = Deadline::after(testing_support::patience);
  while (!is_true() && !end.passed()) co_await pause_for(20ms);
  EXPECT_TRUE(is_true()) << "never: " << what;
}

}  // namespace cloche
