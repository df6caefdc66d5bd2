// Pools, per backend and runtime: a claim from warm; claim, use, give back and reset; how fast sandboxes are made.
//
//   build/dev/bench/pools [rounds]        with CLOCHE_TEST_DOCKER_HOST naming an engine (scripts/engine env)
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>

#include "core/ids.hpp"
#include "core/log.hpp"
#include "pool/manager.hpp"
#include "support/target.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing_support::Target;
using Clock = std::chrono::steady_clock;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "pools: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) die(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void print(const Target& target, const char* what, std::vector<double> ms) {
  std::ranges::sort(ms);
  const auto at = [&](double part) { return ms[static_cast<std::size_t>(part * static_cast<double>(ms.size() - 1))]; };
  std::printf("| %-12s | %-44s | %8.3f | %8.3f |\n", target.name().c_str(), what, at(0.5), at(0.99));
}

Task<> until_idle(pool::Manager& manager, std::uint32_t count) {
  while (manager.stats().at("box").idle < count) co_await pause_for(1ms);
}

Task<pool::Lease> claim(pool::Manager& manager) {
  ClaimOptions options;
  auto lease = co_await manager.acquire("box", std::move(options));
  co_return must(std::move(lease));
}

// Waits for the reset as the next claimer would: the pool has one sandbox.
Task<> measure_reuse(pool::Manager& manager, const Target& target, int rounds) {
  std::vector<double> claims;
  std::vector<double> cycles;
  for (int i = -3; i < rounds; ++i) {
    co_await until_idle(manager, 1);
    const auto start = Clock::now();
    {
      pool::Lease lease = co_await claim(manager);
      if (i >= 0) claims.push_back(ms_since(start));
    }
    pool::Lease again = co_await claim(manager);
    if (i >= 0) cycles.push_back(ms_since(start));
  }
  print(target, "claim from warm", std::move(claims));
  print(target, "claim, give back, reset and proof, claim", std::move(cycles));
}

Task<> measure_refill(pool::Manager& manager, const Target& target, std::uint32_t count) {
  PoolOptions wide = (*manager.find("box"))->profile().pool;
  wide.scale_limit = count + 1;
  wide.pool_size = count + 1;
  const auto start = Clock::now();
  must((*manager.find("box"))->resize(wide));
  co_await until_idle(manager, count + 1);
  const double took = ms_since(start);
  std::printf("| %-12s | %-44s | %8.1f |        - |\n", target.name().c_str(), "sandboxes made a second",
              1000.0 * count / took);
}

Task<> measure(Target target, asio::thread_pool& threads, int rounds) {
  testing_support::Scratch scratch;
  const InstanceId instance{"bench-" + random_hex(4)};
  const auto executor = co_await asio::this_coro::executor;
  auto backend = must(testing_support::make_backend(target, executor, threads, scratch, instance));
  ManagerOptions options;
  Profile profile;
  profile.name = "box";
  profile.sandbox = testing_support::spec_for(target);
  profile.sandbox.limits.cpus = 2;
  profile.pool.pool_size = 1;
  profile.pool.scale_limit = 1;
  profile.pool.max_uses = 1'000'000;
  options.profiles.push_back(profile);
  auto journal = must(pool::Journal::open((scratch.path() / "journal.db").string()));
  auto manager = must(pool::Manager::create(executor, *backend, std::move(journal), std::move(options)));
  auto started = co_await manager->start(Deadline::after(60s));
  must(std::move(started));
  co_await measure_reuse(*manager, target, rounds);
  co_await measure_refill(*manager, target, 8);
  auto ended = co_await manager->shut_down();
  must(std::move(ended));
}

}  // namespace
}  // namespace cloche

int main(int argc, char** argv) {
  using namespace cloche;
  log::set_up(spdlog::level::err);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  std::printf("| %-12s | %-44s | %8s | %8s |\n|---|---|---|---|\n", "target", "what", "p50 ms", "p99 ms");
  for (const Target& target : testing_support::all_targets()) {
    if (target.is_fake() || testing_support::lack_of(target)) continue;
    asio::io_context io{1};
    asio::thread_pool threads{2};
    asio::co_spawn(
        io, [&] { return measure(target, threads, target.is_gvisor() ? std::min(rounds, 50) : rounds); },
        [](std::exception_ptr error) {
          if (error) die("an exception");
        });
    io.run();
  }
}
