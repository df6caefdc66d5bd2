// A warm run of Python: Cloche on every backend and runtime, and every other way to run the same, in turn.
#include <algorithm>

#include "bench/alternatives/bubblewrap.hpp"
#include "bench/alternatives/crun_run.hpp"
#include "bench/alternatives/docker.hpp"
#include "bench/alternatives/python.hpp"
#include "bench/alternatives/service_client.hpp"
#include "bench/scenarios/scenario.hpp"
#include "bench/service_process.hpp"

namespace cloche::bench {

namespace {

// All that takes part, alive until the contest is over.
struct Field {
  std::vector<std::unique_ptr<ServiceProcess>> services;
  std::vector<std::unique_ptr<DockerContainer>> containers;
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::unique_ptr<DockerRun>> docker_runs;
  std::unique_ptr<CrunRun> crun;
  std::vector<Contender> contenders;
};

void enter_client(Field& field, Surroundings& surroundings, std::string name, std::unique_ptr<Client> client,
                  int per_round) {
  Client& kept = *field.clients.emplace_back(std::move(client));
  Contender contender;
  contender.name = std::move(name);
  contender.attempt = [&surroundings, &kept] { return surroundings.await(kept.run_once()); };
  contender.per_round = per_round;
  field.contenders.push_back(std::move(contender));
}

void enter_cloche(Field& field, Surroundings& surroundings, Section& section) {
  for (const Target& target : surroundings.targets()) {
    ServiceSettings settings;
    settings.target = target;
    settings.warm = 1;
    auto service = ServiceProcess::start(surroundings, settings);
    if (!service) {
      section.lacks.push_back({"cloche, " + target.name(), service.error().message});
      continue;
    }
    auto client = std::make_unique<ExecuteClient>(surroundings, (*service)->socket(), "warm");
    enter_client(field, surroundings, "cloche, " + target.name(), std::move(client), target.is_gvisor() ? 1 : 5);
    field.services.push_back(std::move(*service));
  }
}

void enter_docker(Field& field, Surroundings& surroundings, Section& section) {
  if (!surroundings.docker()) return;
  for (const std::string& runtime : {std::string("runc"), std::string("runsc")}) {
    if (std::ranges::find(surroundings.docker()->runtimes, runtime) == surroundings.docker()->runtimes.end()) continue;
    auto container = DockerContainer::start(surroundings, runtime);
    if (!container) {
      section.lacks.push_back({"docker exec, " + runtime, container.error().message});
      continue;
    }
    auto client = std::make_unique<DockerExecClient>(surroundings, **container);
    enter_client(field, surroundings, "docker exec, " + runtime, std::move(client), 1);
    field.containers.push_back(std::move(*container));
  }
  const std::vector<std::string> argv{"python3", "-c", program_text};
  DockerRun& run =
      *field.docker_runs.emplace_back(std::make_unique<DockerRun>(surroundings, "runc", argv, program_output));
  field.contenders.push_back(
      {.name = "docker run, runc", .attempt = [&run] { return run.run(); }, .afterwards = [&run] { run.remove(); }});
}

void enter_host(Field& field, Surroundings& surroundings, Section& section) {
  const std::vector<std::string> argv{host_python, "-c", program_text};
  field.contenders.push_back({.name = "python3 on the host",
                              .attempt = [argv] { return expect_output(argv, program_output); },
                              .per_round = 2});
  if (const auto wrapped = in_bubblewrap(argv); wrapped.empty()) {
    section.lacks.push_back({"bubblewrap", "bwrap is not installed"});
  } else {
    field.contenders.push_back(
        {.name = "bubblewrap", .attempt = [wrapped] { return expect_output(wrapped, program_output); }});
  }
  auto crun = CrunRun::prepare(surroundings, argv, program_output);
  if (!crun) {
    section.lacks.push_back({"crun run", crun.error().message});
    return;
  }
  field.crun = std::move(*crun);
  field.contenders.push_back({.name = "crun run", .attempt = [&field] { return field.crun->run(); }});
}

void add_goals(Section& section) {
  const Figure* ours = find_figure(section, section.reference);
  const double against_docker = times_smaller(ours, find_figure(section, "docker exec, runc"));
  if (against_docker > 0) {
    section.goals.push_back({"warm run of Python `print(42)` over HTTP", "`docker exec` of the same, Engine API",
                             "40 times faster (p50)", times_text(against_docker), against_docker >= 40});
  }
  const double against_host = times_smaller(ours, find_figure(section, "python3 on the host"));
  if (against_host > 0) {
    section.goals.push_back({"the same", "`python3 -c 'print(42)'` on the host", "at most a third of its time (p50)",
                             number_text(1 / against_host) + " of its time", against_host >= 3});
  }
}

Plot plot_of(const Section& section) {
  BarPlot plot;
  plot.title = "Python print(42), p50";
  plot.label = "milliseconds; the line is the middle half";
  for (const Figure& figure : section.figures) {
    plot.bars.push_back({figure.how, figure.value.p50, figure.value.lower_quartile, figure.value.upper_quartile,
                         figure.how.starts_with("cloche")});
  }
  std::ranges::sort(plot.bars, {}, &Bar::value);
  return {"warm", std::move(plot)};
}

}  // namespace

Result<Section> measure_warm_run(Surroundings& surroundings) {
  Section section;
  section.title = "A warm run of Python";
  section.method =
      "The time of `print(42)`, from the request to its complete response. Cloche: `POST /execute` in one session of a "
      "real `cloche serve` on a unix socket. `docker exec`: Engine API calls in a running container (create, start, "
      "read "
      "the output). The others: processes, from start to end. All take turns, in changing order.";
  section.reference = "cloche, " + surroundings.main_target().value_or(Target{"oci", "crun"}).name();
  Field field;
  enter_cloche(field, surroundings, section);
  enter_host(field, surroundings, section);
  enter_docker(field, surroundings, section);
  const Rounds rounds = surroundings.pick(Rounds{1, 6}, Rounds{5, 60});
  CLOCHE_TRY(auto standings, hold_contest(field.contenders, rounds));
  add_standings(section, std::move(standings));
  add_goals(section);
  section.plots.push_back(plot_of(section));
  return section;
}

}  // namespace cloche::bench
