// Claim, give back, reset and proof: what stands between two users of one sandbox.
#include "bench/interrupt.hpp"
#include "bench/pool_in_process.hpp"
#include "bench/scenarios/scenario.hpp"

namespace cloche::bench {

namespace {

using Clock = std::chrono::steady_clock;

struct Claims {
  std::vector<double> claim;  // from warm
  std::vector<double> cycle;  // claim, give back, reset, proof, and the next claim has it
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The pool has one sandbox, so the second claim waits for the reset.
Task<Result<Claims>> claim_again_and_again(PoolInProcess& pool, int rounds) {
  Claims claims;
  for (int i = -5; i < rounds; ++i) {
    CLOCHE_CO_CHECK(Interrupts::check());
    auto idle = co_await pool.until_idle();
    if (!idle) co_return fail(std::move(idle).error());
    const auto start = Clock::now();
    auto first = co_await pool.claim();
    if (!first) co_return fail(std::move(first).error());
    const double claimed = ms_since(start);
    first->give_back();
    auto second = co_await pool.claim();
    if (!second) co_return fail(std::move(second).error());
    const double again = ms_since(start);
    if (i < 0) continue;
    claims.claim.push_back(claimed);
    claims.cycle.push_back(again);
  }
  co_return claims;
}

Result<Claims> measure_on(Surroundings& surroundings, const Target& target) {
  CLOCHE_TRY(auto pool, PoolInProcess::make(surroundings, target, 1));
  const int rounds = surroundings.pick(100, target.is_gvisor() ? 500 : 2000);
  return surroundings.await(claim_again_and_again(*pool, rounds));
}

}  // namespace

Result<Section> measure_claim(Surroundings& surroundings) {
  Section section;
  section.title = "Claim and release";
  section.method =
      "In process, one after the other, on a pool of one sandbox. *Claim* is a claim from a warm pool. *Cycle* is "
      "claim, "
      "release, and reset with its verification, until the next claim has the sandbox.";
  for (const Target& target : surroundings.targets()) {
    CLOCHE_CHECK(Interrupts::check());
    auto measured = measure_on(surroundings, target);
    if (!measured) {
      CLOCHE_CHECK(Interrupts::check());
      section.lacks.push_back({target.name(), measured.error().message});
      continue;
    }
    section.figures.push_back({target.name() + ", claim", "ms", summarise(std::move(measured->claim))});
    const Summary cycle = summarise(std::move(measured->cycle));
    section.figures.push_back({target.name() + ", cycle", "ms", cycle});
    section.goals.push_back({"claim and release, reset included, in process: " + target.name(), "", "p99 below 5 ms",
                             "p99 " + number_text(cycle.p99) + " ms", cycle.p99 < 5});
  }
  return section;
}

}  // namespace cloche::bench
