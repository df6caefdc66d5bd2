#include "bench/load.hpp"

#include "bench/interrupt.hpp"
#include "core/async/event.hpp"

namespace cloche::bench {

namespace {

using Clock = std::chrono::steady_clock;

struct Tally {
  std::vector<double> ms;
  std::size_t at_work = 0;
  Status status;  // the first failure
};

Task<> keep_asking(Client& client, Clock::time_point end, Tally& tally) {
  while (Clock::now() < end && tally.status && Interrupts::check()) {
    const auto began = Clock::now();
    auto done = co_await client.run_once();
    const std::chrono::duration<double, std::milli> took = Clock::now() - began;
    if (done) {
      tally.ms.push_back(took.count());
    } else if (tally.status) {
      tally.status = std::move(done);
    }
  }
  --tally.at_work;
}

}  // namespace

Result<LoadResult> put_load(Surroundings& surroundings, const std::vector<std::unique_ptr<Client>>& clients,
                            std::chrono::milliseconds length) {
  Tally tally;
  tally.at_work = clients.size();
  const auto began = Clock::now();
  for (const auto& client : clients) {
    surroundings.start(keep_asking(*client, began + length, tally));
  }
  surroundings.turn_while([&] { return tally.at_work > 0; });
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  CLOCHE_CHECK(Interrupts::check());
  if (!tally.status) return fail(std::move(tally.status).error());
  return LoadResult{static_cast<double>(tally.ms.size()) / seconds, std::move(tally.ms)};
}

}  // namespace cloche::bench
