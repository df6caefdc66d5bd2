#include "bench/scenarios/scenario.hpp"

namespace cloche::bench {

namespace {

constexpr Scenario scenarios[] = {
    {"warm", "a warm run of Python over HTTP, against docker exec, the host, bubblewrap, crun run, docker run",
     measure_warm_run},
    {"claim", "claim and release, reset included, in process", measure_claim},
    {"new", "a new sandbox to its first response, against crun run and docker run", measure_new_sandbox},
    {"rate", "runs per second of 16 clients, against docker exec", measure_rate},
    {"clients", "runs per second and latency with 1 to 200 clients", measure_clients},
    {"memory", "memory of an idle sandbox, against a Docker container", measure_idle_memory},
    {"crowd", "500 idle sandboxes: memory of the server, time of a claim", measure_crowd},
    {"files", "runs, grep and glob in a workspace of up to 10,000 files", measure_many_files},
    {"sessions", "runs next to up to 200 other sessions", measure_many_sessions},
    {"bulk", "1 GiB into a session and out again, and the peak memory of the server", measure_bulk},
    {"egress", "requests and streams of programs through the broker, against the host; 500 idle connections",
     measure_egress},
    {"cost", "system calls, context switches, cpu time and allocations of a warm run", measure_cost},
};

}  // namespace

std::span<const Scenario> all_scenarios() { return scenarios; }

Section without_main_target(Section section) {
  section.lacks.push_back({section.title, "needs root, and crun or runc"});
  return section;
}

void add_standings(Section& section, std::vector<Standing> standings) {
  for (Standing& standing : standings) {
    if (standing.failed) {
      section.lacks.push_back({standing.name, standing.failed->message});
    } else {
      section.figures.push_back({standing.name, "ms", summarise(std::move(standing.ms))});
    }
  }
}

double times_smaller(const Figure* smaller, const Figure* larger) {
  if (smaller == nullptr || larger == nullptr || smaller->value.p50 <= 0) return 0;
  return larger->value.p50 / smaller->value.p50;
}

std::string times_text(double ratio) { return number_text(ratio) + " times"; }

}  // namespace cloche::bench
