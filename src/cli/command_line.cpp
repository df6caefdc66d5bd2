#include "cli/command_line.hpp"

namespace cloche::cli {

void set_up_command_line(CLI::App& app, GeneralFlags& flags, Action& chosen) {
  app.name("cloche");
  app.description("Run untrusted code in pre-warmed sandboxes and report exactly how each run ended.");
  app.set_version_flag("--version", "cloche " CLOCHE_VERSION, "Print the version and exit");
  app.require_subcommand(0, 1);
  // Options of all commands may also follow the command.
  app.fallthrough();
  app.add_option("--log-level", flags.log_level, "Least severe messages to log on stderr")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_option("--color", flags.color, "When to use colors; auto: on a terminal, unless NO_COLOR is set")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  add_run_command(app, chosen);
  add_serve_command(app, chosen);
  add_exec_command(app, chosen);
  add_sessions_command(app, chosen);
  add_volumes_command(app, chosen);
  add_snapshots_command(app, chosen);
  add_logs_command(app, chosen);
  add_pools_command(app, chosen);
  add_top_command(app, chosen);
  add_access_command(app, chosen);
  add_egress_command(app, chosen);
  add_token_command(app, chosen);
  add_images_command(app, chosen);
  add_doctor_command(app, chosen);
  add_bench_command(app, chosen);
  add_fault_points_command(app, chosen);
  add_completion_command(app, chosen);
  add_manual_command(app, chosen);
}

}  // namespace cloche::cli
