// What a pool decides for a claim and its return, among few and among many sandboxes.
#include <benchmark/benchmark.h>

#include "pool/policy.hpp"

namespace cloche::pool {
namespace {

SlotId slot_served(Policy& policy) {
  SlotId slot = 0;
  for (const Action& action : policy.take_actions()) {
    if (const auto* serve = std::get_if<Serve>(&action)) slot = serve->slot;
  }
  return slot;
}

Policy filled(std::uint32_t size, Time now) {
  PoolOptions options;
  options.pool_size = size;
  options.scale_limit = size;
  options.max_uses = 0xffffffff;
  Policy policy(options);
  policy.tick(now);
  for (const Action& action : policy.take_actions()) {
    if (const auto* make = std::get_if<Make>(&action)) policy.made(make->slot, now);
  }
  policy.take_actions();
  return policy;
}

void claim_and_give_back(benchmark::State& state) {
  const Time now = std::chrono::steady_clock::now();
  Policy policy = filled(static_cast<std::uint32_t>(state.range(0)), now);
  ClaimId claim = 0;
  for (auto _ : state) {
    policy.claim(++claim, "tenant", AtLimit::wait, now);
    const SlotId slot = slot_served(policy);
    if (slot == 0) state.SkipWithError("not served");
    policy.give_back(slot, claim, now);
    policy.take_actions();
    policy.reset_done(slot, Policy::ResetResult::clean, now);
    benchmark::DoNotOptimize(policy.take_actions());
  }
}
BENCHMARK(claim_and_give_back)->Arg(5)->Arg(50)->Arg(500);

}  // namespace
}  // namespace cloche::pool
