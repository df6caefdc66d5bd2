// The command `cloche`.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>

#include "cli/command.hpp"
#include "cloche/errors.hpp"
#include "core/log.hpp"

int main(int argc, char** argv) {
  using namespace cloche;
  CLI::App app("Cloche runs code that nobody trusts, in sandboxes, and tells the truth about how it ended.", "cloche");
  app.set_version_flag("--version", "cloche " CLOCHE_VERSION);
  app.require_subcommand(0, 1);
  std::string level = "warn";
  app.add_option("--log-level", level, "How much is said on stderr of what Cloche does")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  cli::Action chosen;
  cli::add_run_command(app, chosen);
  cli::add_doctor_command(app, chosen);
  cli::add_images_command(app, chosen);
  cli::add_serve_command(app, chosen);
  cli::add_token_command(app, chosen);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : cli::exit_usage;
  }
  if (!chosen) {
    std::fprintf(stderr, "cloche: no command was given\n%s", app.help().c_str());
    return cli::exit_usage;
  }
  std::signal(SIGPIPE, SIG_IGN);
  log::set_up(spdlog::level::from_str(level));
  try {
    return chosen();
  } catch (const SandboxArgumentError& error) {
    std::fprintf(stderr, "cloche: %s\n", error.what());
    return cli::exit_usage;
  } catch (const SandboxUnavailableError& error) {
    std::fprintf(stderr, "cloche: %s\n", error.what());
    return cli::exit_unavailable;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cloche: %s\n", error.what());
    return cli::exit_failure;
  }
}
