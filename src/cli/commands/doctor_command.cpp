// `cloche doctor`: what this host supports and, for each thing missing, what to do.
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <cstdio>
#include <iterator>

#include "cli/command.hpp"
#include "cli/commands/doctor_abandoned.hpp"
#include "cli/engine_flags.hpp"
#include "cli/text/colour.hpp"
#include "cloche/sandbox.hpp"
#include "config/config.hpp"
#include "host/uid_overlap.hpp"
#include "json/write_json.hpp"
#include "library/throwing.hpp"
#include "sandbox/backend_traits.hpp"

namespace cloche::cli {

namespace {

struct DoctorFlags {
  EngineFlags engine;
  AbandonedFlags abandoned;
  std::string config;
  bool json = false;
};

EngineOptions options_of(const DoctorFlags& flags) {
  if (flags.config.empty()) return flags.engine.options();
  EngineOptions options =
      value_or_throw(config::read_config(flags.config, config::process_environment())).manager.engine;
  options.instance.clear();  // the configured one may belong to a running server
  return flags.engine.options(std::move(options));
}

std::vector<HostFinding> examine(EngineOptions options, const BackendTraits& backend) {
  options.backend = backend.kind;
  try {
    return Engine(options).examine();
  } catch (const SandboxError& error) {
    HostFinding finding;
    finding.backend = backend.name;
    finding.name = "usable";
    finding.level = HostFinding::Level::missing;
    finding.detail = error.what();
    return {finding};
  }
}

const char* to_text(HostFinding::Level level) {
  switch (level) {
    case HostFinding::Level::good: return "good";
    case HostFinding::Level::warning: return "warning";
    case HostFinding::Level::missing: return "missing";
  }
  return "missing";
}

Colour colour_of(HostFinding::Level level) {
  switch (level) {
    case HostFinding::Level::good: return Colour::good;
    case HostFinding::Level::warning: return Colour::warning;
    case HostFinding::Level::missing: return Colour::bad;
  }
  return Colour::bad;
}

const char* mark_of(HostFinding::Level level) {
  switch (level) {
    case HostFinding::Level::good: return "ok";
    case HostFinding::Level::warning: return "??";
    case HostFinding::Level::missing: return "no";
  }
  return "no";
}

void print_findings(const std::vector<HostFinding>& findings) {
  const Paint paint = paint_for(STDOUT_FILENO);
  std::string backend;
  for (const auto& finding : findings) {
    if (finding.backend != backend) std::printf("%s%s\n", backend.empty() ? "" : "\n", finding.backend.c_str());
    backend = finding.backend;
    const std::string mark = paint(colour_of(finding.level), mark_of(finding.level));
    std::printf("  %s  %-22s %s\n", mark.c_str(), finding.name.c_str(), finding.detail.c_str());
    if (!finding.advice.empty()) std::printf("      %-22s -> %s\n", "", finding.advice.c_str());
  }
}

void print_findings_as_json(const std::vector<HostFinding>& findings) {
  boost::json::array all;
  for (const auto& finding : findings) {
    boost::json::object entry;
    entry["backend"] = finding.backend;
    entry["name"] = finding.name;
    entry["level"] = to_text(finding.level);
    entry["detail"] = finding.detail;
    if (!finding.advice.empty()) entry["advice"] = finding.advice;
    all.push_back(std::move(entry));
  }
  std::printf("%s\n", write_json(all).c_str());
}

int doctor(const DoctorFlags& flags) {
  if (flags.abandoned.chosen()) {
    AbandonedFlags abandoned = flags.abandoned;
    abandoned.json = flags.json;
    return report_abandoned(abandoned, flags.engine);
  }
  std::vector<HostFinding> findings;
  const EngineOptions options = options_of(flags);
  const std::vector<HostFinding> overlaps = examine_uid_overlap(options);
  for (const BackendTraits& backend : all_backends()) {
    for (auto& finding : examine(options, backend)) findings.push_back(std::move(finding));
    std::ranges::copy_if(overlaps, std::back_inserter(findings),
                         [&](const HostFinding& finding) { return finding.backend == backend.name; });
  }
  if (flags.json) {
    print_findings_as_json(findings);
  } else {
    print_findings(findings);
  }
  // Healthy when the backend that was asked for (or the default) lacks nothing that it cannot do without.
  const auto is_missing = [&](const HostFinding& finding) {
    return finding.backend == flags.engine.backend && finding.level == HostFinding::Level::missing;
  };
  return std::ranges::any_of(findings, is_missing) ? exit_unavailable : 0;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<DoctorFlags>();
  auto* command = app.add_subcommand("doctor", "Show what this host supports and how to fix what is missing");
  command->add_flag("--json", flags->json, "Print JSON");
  auto* show = command->add_flag("--abandoned", flags->abandoned.show,
                                 "Instead, show what servers and commands left behind and no running process owns");
  auto* remove =
      command->add_flag("--remove-abandoned", flags->abandoned.remove,
                        "Show it and remove what is abandoned, but not what a stopped server will take over again");
  command
      ->add_option("--config", flags->config,
                   "Check the host for the engine in this configuration file (default: none)")
      ->type_name("FILE")
      ->excludes(show)
      ->excludes(remove);
  command
      ->add_option("--owner", flags->abandoned.owners,
                   "With --remove-abandoned: remove what this owner left, even if it is a stopped server or unknown on "
                   "this host; may be repeated")
      ->type_name("ID");
  flags->engine.add_to(*command);
  command->callback([flags, &chosen] { chosen = [flags] { return doctor(*flags); }; });
}

}  // namespace cloche::cli
