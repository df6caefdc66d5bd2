// The storm: many claimers on a small pool, some of them impatient, while sandboxes are killed at random. Every claim
// is served or refused in time, the pool never grows beyond its limit, and in the end nothing is left.
//
// CLOCHE_STORM_SECONDS says how long it lasts.
#include <signal.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "core/async/blocking.hpp"
#include "core/async/task_group.hpp"
#include "core/ids.hpp"
#include "support/command.hpp"
#include "support/host_processes.hpp"
#include "support/pools.hpp"

namespace cloche {

namespace {

using Clock = Deadline::Clock;
using std::chrono::milliseconds;

// How late an answer may be on a machine that has much else to do.
constexpr std::chrono::seconds slack{10};
constexpr std::chrono::seconds exec_patience{20};

struct Storm {
  std::uint32_t size;
  std::uint32_t limit;
  int claimers;
  milliseconds between_kills;
  std::chrono::seconds lasts;

  static Storm over(const Target& target) {
    const char* asked = std::getenv("CLOCHE_STORM_SECONDS");
    const std::chrono::seconds lasts(asked != nullptr ? std::atoi(asked) : 10);
    if (target.is_gvisor()) return {2, 6, 16, 1500ms, lasts};
    return {4, 16, 64, target.backend == "docker" ? 500ms : 150ms, lasts};
  }
};

// What happened, and what must never happen.
struct Ledger {
  std::map<std::string, int> refused;  // by error
  std::map<std::string, int> broken;   // execs that ended with an error, by error
  std::vector<milliseconds> latencies;
  int served = 0;
  int cancelled = 0;
  int ran = 0;
  int killed = 0;
  std::uint32_t most = 0;
  std::set<std::string> in_use;
  std::deque<std::string> latest;                        // leased last
  std::map<std::string, std::set<std::string>> tenants;  // of each sandbox that was ever leased

  milliseconds quantile(double share) {
    if (latencies.empty()) return {};
    std::ranges::sort(latencies);
    return latencies[static_cast<std::size_t>(share * static_cast<double>(latencies.size() - 1))];
  }
};

// May be asked of one thread only.
class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }
  bool percent(int n) { return below(100) < n; }
  milliseconds between(milliseconds least, milliseconds most) {
    return least + milliseconds(below(static_cast<int>((most - least).count())));
  }

 private:
  std::mt19937 engine_;
};

Task<> use(pool::Lease lease, const std::string& tenant, Chance& chance, Ledger& ledger) {
  const std::string id = lease->id().value;
  EXPECT_TRUE(ledger.in_use.insert(id).second) << id << " is lent twice";
  ledger.tenants[id].insert(tenant);
  ledger.latest.push_back(id);
  if (ledger.latest.size() > 16) ledger.latest.pop_front();
  if (chance.percent(90)) {
    const std::string number = std::to_string(chance.below(1'000'000));
    ExecSpec spec = ExecSpec::shell("cat mark 2>/dev/null; echo " + number + " | tee mark");
    const auto began = Clock::now();
    auto ran = co_await lease.run(std::move(spec), Deadline::after(exec_patience));
    EXPECT_LT(Clock::now() - began, exec_patience + slack) << "an exec hung";
    if (ran && ran->outcome.ending == Ending::exited) {
      EXPECT_EQ(ran->out, number + "\n") << "of another lease";
      ++ledger.ran;
    } else {
      ++ledger.broken[ran ? std::string("signalled") : std::string(to_string(ran.error().code))];
    }
  }
  if (chance.percent(10)) co_await pause_for(chance.between(1ms, 100ms));
  ledger.in_use.erase(id);
  if (chance.percent(15)) lease.destroy();
}

Task<> claim_once(pool::Manager& manager, std::string tenant, Chance& chance, Ledger& ledger) {
  using asio::experimental::awaitable_operators::operator||;
  ClaimOptions options;
  options.tenant = tenant;
  const milliseconds patience = chance.between(200ms, 5000ms);
  options.wait_timeout = patience;
  if (chance.percent(5)) options.at_limit = AtLimit::fail;
  const auto began = Clock::now();
  const std::string name = "box";
  const Deadline deadline = Deadline::after(60s);
  // Some leave before they are served.
  const milliseconds stays = chance.percent(10) ? chance.between(1ms, 500ms) : milliseconds(120'000);
  auto claimed = co_await (manager.acquire(name, std::move(options), deadline) || pause_for(stays));
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
  EXPECT_LT(took, patience + slack) << "neither served nor refused in time";
  if (claimed.index() == 1) {
    ++ledger.cancelled;
    co_return;
  }
  Result<pool::Lease> lease = std::get<0>(std::move(claimed));
  if (!lease) {
    ++ledger.refused[std::string(to_string(lease.error().code))];
    co_return;
  }
  ++ledger.served;
  ledger.latencies.push_back(took);
  co_await use(std::move(*lease), tenant, chance, ledger);
}

// A storm ends at its time, but a slow machine gets longer to serve more claims than there are claimers.
struct End {
  Deadline usual;
  Deadline latest;
  int claimers;

  bool has_come(const Ledger& ledger) const { return latest.passed() || (usual.passed() && ledger.served > claimers); }
};

Task<> claim_again_and_again(pool::Manager& manager, int number, End end, Ledger& ledger) {
  Chance chance(static_cast<unsigned>(number) + 1);
  // Most are of one tenant; the others' sandboxes are in each other's way.
  const std::string tenant = number % 4 == 0 ? "tenant-" + std::to_string(number % 3) : "";
  while (!end.has_come(ledger)) {
    co_await claim_once(manager, tenant, chance, ledger);
    if (chance.percent(30)) co_await pause_for(chance.between(1ms, 50ms));
  }
}

// Kills process 1, or all processes, or stops process 1, of a sandbox that is or was leased.
Task<> sabotage(const Target& target, Storm storm, asio::thread_pool& threads, Ledger& ledger) {
  Chance chance(4711);
  for (;;) {
    co_await pause_for(storm.between_kills);
    if (ledger.latest.empty()) continue;
    // Half of the time one that is leased now; otherwise one that may be idle, or already gone.
    std::string id = ledger.latest[static_cast<std::size_t>(chance.below(static_cast<int>(ledger.latest.size())))];
    if (!ledger.in_use.empty() && chance.percent(50)) {
      id = *std::next(ledger.in_use.begin(), chance.below(static_cast<int>(ledger.in_use.size())));
    }
    const int way = chance.below(10);
    auto strike = [&target, id, way]() -> Result<int> {
      if (way < 2 && !target.is_fake()) {
        int struck = 0;
        for (const pid_t pid : testing_support::processes_of(target, id)) struck += ::kill(pid, SIGKILL) == 0 ? 1 : 0;
        return struck > 0 ? 1 : 0;
      }
      const pid_t first = testing_support::first_process_of(target, id);
      // An engine cannot remove a gVisor whose kernel is stopped.
      const bool stop = way == 2 && !(target.backend == "docker" && target.is_gvisor());
      return first > 1 && ::kill(first, stop ? SIGSTOP : SIGKILL) == 0 ? 1 : 0;
    };
    auto struck = co_await run_blocking(threads, std::move(strike));
    ledger.killed += struck.value_or(0);
  }
}

Task<> watch(pool::Manager& manager, Storm storm, Ledger& ledger) {
  for (;;) {
    co_await pause_for(10ms);
    const auto stats = manager.stats().at("box");
    ledger.most = std::max(ledger.most, stats.total);
    EXPECT_LE(stats.total, storm.limit);
  }
}

// What the host still has of the sandboxes that were leased.
std::vector<std::string> left_on_host(const Target& target, const Ledger& ledger, const InstanceId& instance,
                                      const std::filesystem::path& scratch, const std::string& prefix) {
  std::vector<std::string> left;
  if (target.is_fake()) {
    for (const pid_t pid : testing_support::processes_of(target, "fake-"))
      left.push_back("process " + std::to_string(pid));
    return left;
  }
  const auto is_ours = [&](const std::string& name) { return name == instance.value || ledger.tenants.contains(name); };
  std::error_code ignored;
  for (auto it = std::filesystem::recursive_directory_iterator(
           "/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied, ignored);
       it != std::filesystem::recursive_directory_iterator(); it.increment(ignored)) {
    if (is_ours(it->path().filename())) left.push_back("cgroup " + it->path().string());
  }
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(scratch.string()) != line.npos) left.push_back("mount " + line);
  }
  for (const auto& [id, tenants] : ledger.tenants) {
    for (const pid_t pid : testing_support::processes_of(target, id)) left.push_back("process " + std::to_string(pid));
  }
  for (const auto& entry :
       std::filesystem::directory_iterator(scratch / "run" / instance.value / "sandboxes", ignored)) {
    left.push_back("directory " + entry.path().string());
  }
  if (target.backend == "docker") {
    const auto listed = testing_support::run_command(
        {.argv = {"docker", "-H", std::getenv("CLOCHE_TEST_DOCKER_HOST"), "ps", "-aq", "--filter", "name=" + prefix}});
    if (!listed.out.empty() || listed.exit_code != 0) left.push_back("container " + listed.out + listed.err);
  }
  return left;
}

std::string joined(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += " " + name + " " + std::to_string(count);
  return text.empty() ? " none" : text;
}

}  // namespace

POOLS(Storm_EveryClaimIsServedOrRefusedInTimeAndNothingIsLeft) {
  const Storm storm = Storm::over(target());
  Profile stormy = profile(storm.size, storm.limit);
  stormy.pool.health_interval = 2s;
  stormy.pool.reset_timeout = 5s;
  ManagerOptions options = with(stormy);
  options.name_prefix = "storm-" + random_hex(4);
  Ledger ledger;
  in_manager(options, [&](pool::Manager& manager) -> Task<> {
    TaskGroup claimers(io_.get_executor());
    TaskGroup others(io_.get_executor());
    const End end{Deadline::after(storm.lasts), Deadline::after(storm.lasts + 60s), storm.claimers};
    for (int i = 0; i < storm.claimers; ++i) {
      claimers.spawn("claimer", [&, i] { return claim_again_and_again(manager, i, end, ledger); });
    }
    others.spawn("saboteur", [&] { return sabotage(target(), storm, threads_, ledger); });
    others.spawn("watch", [&] { return watch(manager, storm, ledger); });
    co_await claimers.join();
    co_await others.shut_down();
    // The last blow may have been struck a moment ago, and is noticed when it is felt.
    co_await pause_for(1s);
    // The pool is as good as before.
    pool::Lease lease = co_await lend(manager);
    const std::string said = co_await shell(lease, "echo well");
    EXPECT_EQ(said, "well\n");
    const auto stats = manager.stats().at("box");
    EXPECT_EQ(stats.waiting, 0u);
    std::cout << target().name() << ", " << storm.lasts.count() << " s, " << storm.claimers << " claimers on "
              << storm.size << " to " << storm.limit << ": served " << ledger.served
              << ", refused:" << joined(ledger.refused) << ", left early " << ledger.cancelled << ", ran " << ledger.ran
              << ", broken:" << joined(ledger.broken) << "; struck " << ledger.killed << ", lost " << stats.lost
              << ", created " << stats.created << ", failed to create " << stats.create_failures << ", resets "
              << stats.resets << " (failed " << stats.resets_failed << "), most at once " << ledger.most
              << "; claim p50 " << ledger.quantile(0.5).count() << " ms, p99 " << ledger.quantile(0.99).count()
              << " ms, max " << ledger.quantile(1).count() << " ms\n";
  });
  EXPECT_GT(ledger.served, storm.claimers);
  EXPECT_GT(ledger.killed, 0);
  for (const auto& [id, tenants] : ledger.tenants) EXPECT_EQ(tenants.size(), 1u) << id << " served two tenants";
  for (const auto& [code, count] : ledger.refused) {
    EXPECT_THAT(code, testing::AnyOf("timeout", "limit_reached", "sandbox_lost", "unavailable")) << count;
  }
  for (const auto& [code, count] : ledger.broken) {
    EXPECT_THAT(code, testing::AnyOf("sandbox_lost", "timeout", "signalled")) << count;
  }
  EXPECT_THAT(left_on_host(target(), ledger, instance_, scratch_.path(), options.name_prefix), testing::IsEmpty());
}

}  // namespace cloche
