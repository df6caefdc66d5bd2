// From one client to two hundred: throughput and latency.
#include "bench/alternatives/docker.hpp"
#include "bench/alternatives/service_client.hpp"
#include "bench/interrupt.hpp"
#include "bench/load.hpp"
#include "bench/scenarios/scenario.hpp"
#include "bench/service_process.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

// Two hundred clients share these.
constexpr int session_count = 16;
constexpr int most_docker_clients = 16;

struct Curves {
  Line rate;
  Line p50;
  Line p99;
};

using MakeClient = std::function<std::unique_ptr<Client>(int number)>;

Status climb(Surroundings& surroundings, Section& section, const MakeClient& make, const std::vector<int>& steps,
             Curves& curves) {
  for (const int count : steps) {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < count; ++i) clients.push_back(make(i));
    CLOCHE_CHECK(put_load(surroundings, clients, 200ms));
    CLOCHE_TRY(LoadResult result, put_load(surroundings, clients, surroundings.pick(400ms, 3000ms)));
    const Summary ms = summarise(std::move(result.ms));
    const std::string name = curves.rate.name + ", " + std::to_string(count) + (count == 1 ? " client" : " clients");
    section.figures.push_back({name, "runs/s", single(result.per_second)});
    section.figures.push_back({name + ", each run", "ms", ms});
    curves.rate.points.emplace_back(count, result.per_second);
    curves.p50.points.emplace_back(count, ms.p50);
    curves.p99.points.emplace_back(count, ms.p99);
  }
  return {};
}

Curves curves_of(const std::string& name) { return {{name, {}}, {name + ", p50", {}}, {name + ", p99", {}}}; }

}  // namespace

Result<Section> measure_clients(Surroundings& surroundings) {
  Section section;
  section.title = "From one client to two hundred";
  section.method =
      "As in the previous section, with an increasing number of clients; those of Cloche share 16 sessions. One "
      "measurement each.";
  const auto target = surroundings.main_target();
  if (!target) return without_main_target(std::move(section));
  ServiceSettings settings;
  settings.target = *target;
  auto service = ServiceProcess::start(surroundings, settings);
  if (!service) {
    section.lacks.push_back({"cloche, " + target->name(), service.error().message});
    return section;
  }
  const std::vector<int> all{1, 2, 4, 8, 16, 32, 64, 128, 200};
  const std::vector<int> some{1, 16, 200};
  Curves ours = curves_of("cloche, " + target->name());
  const MakeClient make_ours = [&](int i) {
    return std::make_unique<ExecuteClient>(surroundings, (*service)->socket(), "s" + std::to_string(i % session_count));
  };
  if (auto done = climb(surroundings, section, make_ours, surroundings.pick(some, all), ours); !done) {
    CLOCHE_CHECK(Interrupts::check());
    section.lacks.push_back({ours.rate.name, done.error().message});
  }
  Curves docker = curves_of("docker exec, runc");
  if (surroundings.docker()) {
    auto container = DockerContainer::start(surroundings, "runc");
    const MakeClient make = [&](int) { return std::make_unique<DockerExecClient>(surroundings, **container); };
    const std::vector<int> steps = surroundings.pick(std::vector<int>{1}, {1, 2, 4, 8, most_docker_clients});
    Status done = container ? climb(surroundings, section, make, steps, docker) : Status(fail(container.error()));
    CLOCHE_CHECK(Interrupts::check());
    if (!done) section.lacks.push_back({docker.rate.name, done.error().message});
  }
  const Axis clients{"clients at once", Scale::logarithmic};
  section.plots.push_back({"rate", LinePlot{"Python print(42), runs per second",
                                            clients,
                                            {"runs per second", Scale::linear},
                                            {ours.rate, docker.rate}}});
  section.plots.push_back({"latency", LinePlot{"Python print(42), time a client waits",
                                               clients,
                                               {"milliseconds", Scale::logarithmic},
                                               {ours.p50, ours.p99, docker.p50, docker.p99}}});
  return section;
}

}  // namespace cloche::bench
