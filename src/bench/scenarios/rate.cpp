// Sixteen clients at once, Cloche and docker exec in turn.
#include "bench/alternatives/docker.hpp"
#include "bench/alternatives/service_client.hpp"
#include "bench/interrupt.hpp"
#include "bench/load.hpp"
#include "bench/scenarios/scenario.hpp"
#include "bench/service_process.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

constexpr int client_count = 16;

// One side: its clients, and what they managed in each round.
struct Side {
  std::string name;
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<double> rates;
  std::vector<double> ms;
};

Status measure(Surroundings& surroundings, std::vector<Side>& sides) {
  const int rounds = surroundings.pick(2, 6);
  const auto length = surroundings.pick(1000ms, 4000ms);
  for (Side& side : sides) CLOCHE_CHECK(put_load(surroundings, side.clients, 300ms));
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t index : order_of_round(sides.size(), static_cast<std::size_t>(round))) {
      CLOCHE_TRY(LoadResult result, put_load(surroundings, sides[index].clients, length));
      sides[index].rates.push_back(result.per_second);
      sides[index].ms.insert(sides[index].ms.end(), result.ms.begin(), result.ms.end());
    }
  }
  return {};
}

void add_figures(Section& section, std::vector<Side> sides) {
  for (Side& side : sides) {
    section.figures.push_back({side.name, "runs/s", summarise(std::move(side.rates))});
    section.figures.push_back({side.name + ", each run", "ms", summarise(std::move(side.ms))});
  }
}

}  // namespace

Result<Section> measure_rate(Surroundings& surroundings) {
  Section section;
  section.title = "Sixteen clients at once";
  section.method =
      "16 clients run `print(42)`; each sends its next request as soon as it has the response. Clients and server "
      "share "
      "the machine. With Cloche each client has its own session; with `docker exec` all share one container. Both take "
      "turns several times; the p50 of a rate is over the turns.";
  const auto target = surroundings.main_target();
  if (!target) return without_main_target(std::move(section));
  ServiceSettings settings;
  settings.target = *target;
  auto service = ServiceProcess::start(surroundings, settings);
  if (!service) {
    section.lacks.push_back({"cloche, " + target->name(), service.error().message});
    return section;
  }
  std::vector<Side> sides(1);
  sides[0].name = "cloche, " + target->name();
  for (int i = 0; i < client_count; ++i) {
    sides[0].clients.push_back(
        std::make_unique<ExecuteClient>(surroundings, (*service)->socket(), "s" + std::to_string(i)));
  }
  std::unique_ptr<DockerContainer> container;
  if (surroundings.docker()) {
    auto started = DockerContainer::start(surroundings, "runc");
    if (started) {
      container = std::move(*started);
      Side& docker = sides.emplace_back();
      docker.name = "docker exec, runc";
      for (int i = 0; i < client_count; ++i) {
        docker.clients.push_back(std::make_unique<DockerExecClient>(surroundings, *container));
      }
    } else {
      section.lacks.push_back({"docker exec", started.error().message});
    }
  }
  if (auto measured = measure(surroundings, sides); !measured) {
    CLOCHE_CHECK(Interrupts::check());
    section.lacks.push_back({section.title, measured.error().message});
    return section;
  }
  add_figures(section, std::move(sides));
  const double ratio =
      times_smaller(find_figure(section, "docker exec, runc"), find_figure(section, "cloche, " + target->name()));
  if (ratio > 0) {
    section.goals.push_back(
        {"warm runs per second, 16 clients", "`docker exec`, 16 clients", "30 times", times_text(ratio), ratio >= 30});
  }
  return section;
}

}  // namespace cloche::bench
