// A sub-command: adds itself to the parser; runs when it was chosen.
#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace cloche::cli {

// Exit codes of the command line's own; a program's exit code is passed through.
constexpr int exit_usage = 64;
constexpr int exit_unavailable = 69;
constexpr int exit_failure = 70;

// What the chosen command does; its result is the process's exit code.
using Action = std::function<int()>;

void add_run_command(CLI::App& app, Action& chosen);
void add_doctor_command(CLI::App& app, Action& chosen);
void add_images_command(CLI::App& app, Action& chosen);
void add_serve_command(CLI::App& app, Action& chosen);
void add_token_command(CLI::App& app, Action& chosen);

}  // namespace cloche::cli
