// Five hundred sandboxes that wait: what the server needs for them, and whether a claim notices.
#include <algorithm>

#include "bench/alternatives/service_client.hpp"
#include "bench/interrupt.hpp"
#include "bench/pool_in_process.hpp"
#include "bench/processes.hpp"
#include "bench/scenarios/scenario.hpp"
#include "bench/service_process.hpp"
#include "core/async/event.hpp"
#include "json/lenient_json.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr double mebibyte = 1 << 20;
constexpr int few = 5;

Task<Status> until_idle(ServiceCalls& calls, int count) {
  const auto deadline = Deadline::after(300s);
  for (;;) {
    auto answer = co_await calls.get("/stats");
    if (!answer) co_return fail(std::move(answer).error());
    CLOCHE_CO_TRY(const boost::json::value stats, json::parse(*answer));
    if (json::number(json::find(stats, "session", "idle")) >= count) co_return Status{};
    if (deadline.passed()) co_return fail(ErrorCode::timeout, "its pool does not fill: " + answer->substr(0, 200));
    CLOCHE_CO_CHECK(Interrupts::check());
    co_await pause_for(20ms);
  }
}

struct ServerMemory {
  double mib = 0;
  double seconds = 0;  // until all were there
};

Result<ServerMemory> server_with(Surroundings& surroundings, const Target& target, int count) {
  ServiceSettings settings;
  settings.target = target;
  settings.warm = count;
  settings.python = ServiceSettings::Python::cold;
  const auto start = Clock::now();
  CLOCHE_TRY(auto service, ServiceProcess::start(surroundings, settings));
  ServiceCalls calls(surroundings, service->socket());
  CLOCHE_CHECK(surroundings.await(until_idle(calls, count)));
  const std::chrono::duration<double> took = Clock::now() - start;
  return ServerMemory{resident_memory(service->pid()) / mebibyte, took.count()};
}

// Claims from warm, given back at once, and waited for until all are idle again.
Task<Status> claim_once(PoolInProcess& pool, std::vector<double>& ms) {
  auto idle = co_await pool.until_idle();
  if (!idle) co_return fail(std::move(idle).error());
  const auto start = Clock::now();
  auto lease = co_await pool.claim();
  const std::chrono::duration<double, std::milli> took = Clock::now() - start;
  if (!lease) co_return fail(std::move(lease).error());
  ms.push_back(took.count());
  co_return Status{};
}

struct Claims {
  std::vector<double> of_few;
  std::vector<double> of_many;
};

Result<Claims> claims_beside(Surroundings& surroundings, const Target& target, int many) {
  CLOCHE_TRY(auto small, PoolInProcess::make(surroundings, target, few));
  CLOCHE_TRY(auto large, PoolInProcess::make(surroundings, target, static_cast<std::uint32_t>(many)));
  Claims claims;
  const int rounds = surroundings.pick(100, 1000);
  for (int i = -10; i < rounds; ++i) {
    CLOCHE_CHECK(Interrupts::check());
    if (i == 0) claims = {};
    CLOCHE_CHECK(
        surroundings.await(claim_once(i % 2 == 0 ? *small : *large, i % 2 == 0 ? claims.of_few : claims.of_many)));
    CLOCHE_CHECK(
        surroundings.await(claim_once(i % 2 == 0 ? *large : *small, i % 2 == 0 ? claims.of_many : claims.of_few)));
  }
  return claims;
}

}  // namespace

Result<Section> measure_crowd(Surroundings& surroundings) {
  Section section;
  section.title = "Many idle sandboxes";
  const int many = surroundings.pick(50, 500);
  const std::string number = std::to_string(many);
  section.method = number +
                   " sandboxes are kept warm by a real `cloche serve`, whose resident memory is measured. Claims are "
                   "measured in process, from a warm pool of 5 and from one of " +
                   number + ", in turn.";
  const auto target = surroundings.main_target();
  if (!target) return without_main_target(std::move(section));

  for (const int count : {few, many}) {
    auto server = server_with(surroundings, *target, count);
    CLOCHE_CHECK(Interrupts::check());
    if (!server) {
      section.lacks.push_back({std::to_string(count) + " idle sandboxes", server.error().message});
      continue;
    }
    const std::string name = std::to_string(count) + " idle sandboxes";
    section.figures.push_back({name + ", memory of the server", "MiB", single(server->mib)});
    section.figures.push_back({name + ", all ready after", "s", single(server->seconds)});
    if (count == many) {
      section.goals.push_back({name, "", "all ready; server below 150 MB",
                               number_text(server->mib * mebibyte / 1e6) + " MB", server->mib * mebibyte < 150e6});
    }
  }
  auto claims = claims_beside(surroundings, *target, many);
  CLOCHE_CHECK(Interrupts::check());
  if (!claims) {
    section.lacks.push_back({"claims next to " + number, claims.error().message});
    return section;
  }
  const Summary of_few = summarise(std::move(claims->of_few));
  const Summary of_many = summarise(std::move(claims->of_many));
  section.figures.push_back({"claim from 5", "ms", of_few});
  section.figures.push_back({"claim from " + number, "ms", of_many});
  // The p99 of fractions of a millisecond depends on the scheduler as much as on Cloche: a tenth of a millisecond is
  // not a difference.
  section.goals.push_back({"claim from " + number + " idle sandboxes", "the same from 5", "similar p99",
                           number_text(of_many.p99) + " ms and " + number_text(of_few.p99) + " ms",
                           of_many.p99 <= std::max(1.5 * of_few.p99, of_few.p99 + 0.1)});
  return section;
}

}  // namespace cloche::bench
