#include "bench/bench.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "bench/interrupt.hpp"
#include "bench/report/markdown.hpp"
#include "bench/report/report_json.hpp"
#include "bench/scenarios/scenario.hpp"

namespace cloche::bench {

namespace {

using Clock = std::chrono::steady_clock;

Result<std::vector<Scenario>> chosen(const std::vector<std::string>& rows) {
  std::vector<Scenario> all;
  for (const std::string& id : rows) {
    if (std::ranges::none_of(all_scenarios(), [&](const Scenario& scenario) { return scenario.id == id; })) {
      return fail(ErrorCode::invalid_argument, "no row `" + id + "`; run `cloche bench --list` to see all rows");
    }
  }
  for (const Scenario& scenario : all_scenarios()) {
    if (rows.empty() || std::ranges::find(rows, scenario.id) != rows.end()) all.push_back(scenario);
  }
  return all;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Status write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return fail(ErrorCode::internal, "cannot write " + path.string());
  return {};
}

}  // namespace

Result<Report> measure_rows(Options options, const std::vector<std::string>& rows) {
  CLOCHE_TRY(const std::vector<Scenario> scenarios, chosen(rows));
  const Interrupts interrupts;
  const auto start = Clock::now();
  Report report;
  report.length = options.length;
  report.machine = describe_machine(options.label);
  Surroundings surroundings(std::move(options));
  if (surroundings.docker()) report.machine.versions.emplace_back("docker engine", surroundings.docker()->version);
  report.lacks = surroundings.lacks();
  for (const Scenario& scenario : scenarios) {
    tell(std::string("bench: ") + scenario.id + ": " + scenario.what);
    const auto began = Clock::now();
    CLOCHE_TRY(Section section, scenario.measure(surroundings));
    section.id = scenario.id;
    tell("bench: " + section.id + ": " + number_text(seconds_since(began)) + " s");
    report.sections.push_back(std::move(section));
  }
  report.seconds = seconds_since(start);
  return report;
}

Status write_results(const Report& report, const std::string& directory) {
  const std::filesystem::path place = directory;
  std::error_code failed;
  std::filesystem::create_directories(place, failed);
  if (failed) return fail(ErrorCode::internal, "cannot create " + directory + ": " + failed.message());
  CLOCHE_CHECK(write_file(place / "table.md", to_markdown(report, Plots::linked)));
  CLOCHE_CHECK(write_file(place / "results.json", to_json(report)));
  for (const Section& section : report.sections) {
    for (const Plot& plot : section.plots) CLOCHE_CHECK(write_file(place / (plot.name + ".svg"), draw(plot)));
  }
  return {};
}

}  // namespace cloche::bench
