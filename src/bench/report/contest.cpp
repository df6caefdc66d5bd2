#include "bench/report/contest.hpp"

#include <algorithm>
#include <chrono>

#include "bench/interrupt.hpp"

namespace cloche::bench {

namespace {

using Clock = std::chrono::steady_clock;

Status attempt(const Contender& contender, std::vector<double>& ms) {
  const auto start = Clock::now();
  auto done = contender.attempt();
  const std::chrono::duration<double, std::milli> took = Clock::now() - start;
  if (contender.afterwards) contender.afterwards();
  if (done) ms.push_back(took.count());
  return done;
}

}  // namespace

std::vector<std::size_t> order_of_round(std::size_t contenders, std::size_t round) {
  std::vector<std::size_t> order;
  order.reserve(contenders);
  for (std::size_t i = 0; i < contenders; ++i) order.push_back((round / 2 + i) % contenders);
  if (round % 2 == 1) std::ranges::reverse(order);
  return order;
}

Result<std::vector<Standing>> hold_contest(const std::vector<Contender>& contenders, Rounds rounds) {
  std::vector<Standing> standings;
  for (const Contender& contender : contenders) standings.push_back({contender.name, {}, std::nullopt});
  for (int round = -rounds.warm_up; round < rounds.count; ++round) {
    for (const std::size_t index :
         order_of_round(contenders.size(), static_cast<std::size_t>(round + rounds.warm_up))) {
      const Contender& contender = contenders[index];
      Standing& standing = standings[index];
      for (int i = 0; i < contender.per_round && !standing.failed; ++i) {
        CLOCHE_CHECK(Interrupts::check());
        std::vector<double> dropped;
        if (auto done = attempt(contender, round < 0 ? dropped : standing.ms); !done) standing.failed = done.error();
      }
    }
  }
  return standings;
}

}  // namespace cloche::bench
