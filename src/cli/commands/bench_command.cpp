// `cloche bench`: Cloche and its alternatives, measured side by side on this very machine.
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "bench/bench.hpp"
#include "bench/report/markdown.hpp"
#include "bench/report/report_json.hpp"
#include "bench/scenarios/scenario.hpp"
#include "cli/command.hpp"
#include "core/log.hpp"
#include "library/throwing.hpp"

namespace cloche::cli {

namespace {

struct BenchFlags {
  bench::Options options;
  std::vector<std::string> rows;
  std::string out;
  bool quick = false;
  bool json = false;
  bool list = false;
};

int list_rows() {
  for (const bench::Scenario& scenario : bench::all_scenarios()) std::printf("%-10s %s\n", scenario.id, scenario.what);
  return 0;
}

int measure(BenchFlags flags) {
  if (flags.list) return list_rows();
  flags.options.length = flags.quick ? bench::Length::quick : bench::Length::full;
  // The program that runs is the program that is measured.
  flags.options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  auto report = bench::measure_rows(std::move(flags.options), flags.rows);
  if (!report && report.error().code == ErrorCode::cancelled) return 128 + SIGINT;
  const bench::Report measured = value_or_throw(std::move(report));
  if (!flags.out.empty()) value_or_throw(bench::write_results(measured, flags.out));
  const std::string text = flags.json ? bench::to_json(measured) : bench::to_markdown(measured, bench::Plots::left_out);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : exit_failure;
}

}  // namespace

void add_bench_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand("bench", "Measure Cloche and its alternatives on this machine");
  command->add_flag("--quick", flags->quick, "Measure roughly, in about a minute instead of ten");
  command->add_option("--rows", flags->rows, "Measure only these rows, separated by commas; see --list")
      ->delimiter(',');
  command->add_flag("--list", flags->list, "List the rows and exit");
  command->add_option("--out", flags->out, "Also write table.md, results.json and plots to this directory");
  command->add_flag("--json", flags->json, "Print JSON instead of Markdown");
  command->add_option("--docker-host", flags->options.docker_host,
                      "The Docker engine, as unix:///path or tcp://host:port (default: DOCKER_HOST)");
  flags->options.docker_image = "python:3.12-slim";
  command->add_option("--docker-image", flags->options.docker_image, "An image of that engine that contains Python")
      ->envname("SANDBOX_WORKER_IMAGE")
      ->capture_default_str();
  command->add_option("--label", flags->options.label,
                      "Description of what is measured, for the report, such as a commit");
  command
      ->add_option("--allocation-counter", flags->options.allocation_counter,
                   "libcount_allocations.so of Cloche's build, to count the server's allocations")
      ->check(CLI::ExistingFile);
  command->callback([flags, &app, &chosen] {
    const bool asked_for_log = app.get_option("--log-level")->count() > 0;
    chosen = [flags, asked_for_log] {
      // Pools that are driven to their limit say so; that is what is measured.
      if (!asked_for_log) log::set_up(spdlog::level::err);
      return measure(*flags);
    };
  });
}

}  // namespace cloche::cli
