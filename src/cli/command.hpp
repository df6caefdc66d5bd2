// A sub-command: adds itself to the parser; runs when it was chosen.
#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace cloche::cli {

// Exit codes of the command line's own; a program's exit code is passed through.
constexpr int exit_usage = 64;
constexpr int exit_unavailable = 69;
constexpr int exit_failure = 70;
constexpr int exit_stdout_closed = 141;

// The action of the chosen command; its result is the exit code of the process.
using Action = std::function<int()>;

void add_run_command(CLI::App& app, Action& chosen);
void add_doctor_command(CLI::App& app, Action& chosen);
void add_bench_command(CLI::App& app, Action& chosen);
void add_images_command(CLI::App& app, Action& chosen);
void add_serve_command(CLI::App& app, Action& chosen);
void add_token_command(CLI::App& app, Action& chosen);
void add_fault_points_command(CLI::App& app, Action& chosen);
// Commands that use a running service.
void add_exec_command(CLI::App& app, Action& chosen);
void add_sessions_command(CLI::App& app, Action& chosen);
void add_volumes_command(CLI::App& app, Action& chosen);
void add_snapshots_command(CLI::App& app, Action& chosen);
void add_logs_command(CLI::App& app, Action& chosen);
void add_pools_command(CLI::App& app, Action& chosen);
void add_top_command(CLI::App& app, Action& chosen);
void add_egress_command(CLI::App& app, Action& chosen);
void add_access_command(CLI::App& app, Action& chosen);
// Commands that describe all others, and so come last.
void add_completion_command(CLI::App& app, Action& chosen);
void add_manual_command(CLI::App& app, Action& chosen);

}  // namespace cloche::cli
