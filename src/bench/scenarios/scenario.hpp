// Scenarios: each measures one thing that the project promises, and its alternatives beside it. One file each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/report/contest.hpp"
#include "bench/report/report.hpp"
#include "bench/surroundings.hpp"

namespace cloche::bench {

struct Scenario {
  const char* id;
  const char* what;
  // Fails only when interrupted; what could not be measured is among the section's lacks.
  Result<Section> (*measure)(Surroundings& surroundings);
};

std::span<const Scenario> all_scenarios();

Result<Section> measure_warm_run(Surroundings& surroundings);
Result<Section> measure_claim(Surroundings& surroundings);
Result<Section> measure_new_sandbox(Surroundings& surroundings);
Result<Section> measure_rate(Surroundings& surroundings);
Result<Section> measure_clients(Surroundings& surroundings);
Result<Section> measure_idle_memory(Surroundings& surroundings);
Result<Section> measure_crowd(Surroundings& surroundings);
Result<Section> measure_many_files(Surroundings& surroundings);
Result<Section> measure_many_sessions(Surroundings& surroundings);
Result<Section> measure_bulk(Surroundings& surroundings);
Result<Section> measure_egress(Surroundings& surroundings);
Result<Section> measure_cost(Surroundings& surroundings);

// The section with its lack, for a scenario that only the embedded backend with a shared kernel can be asked for.
Section without_main_target(Section section);
// Adds a figure in milliseconds for each that took part to its end, a lack for each that did not.
void add_standings(Section& section, std::vector<Standing> standings);
// How many times smaller the first is than the second; 0 when either was not measured.
double times_smaller(const Figure* smaller, const Figure* larger);
// `41.3 times`.
std::string times_text(double ratio);

}  // namespace cloche::bench
