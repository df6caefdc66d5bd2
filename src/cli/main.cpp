// The command `cloche`.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <cstdio>

#include "cli/command_line.hpp"
#include "cli/text/clean.hpp"
#include "cli/text/colour.hpp"
#include "cloche/errors.hpp"
#include "core/log.hpp"

namespace {

// The words may be a stranger's: a server's, or a file name's.
int complain(const std::exception& error, int exit_code) {
  std::fprintf(stderr, "cloche: %s\n", cloche::cli::printable_lines(error.what()).c_str());
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace cloche;
  CLI::App app;
  cli::GeneralFlags flags;
  cli::Action chosen;
  cli::set_up_command_line(app, flags, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : cli::exit_usage;
  }
  if (!chosen) {
    std::fprintf(stderr, "cloche: missing command\n%s", app.help().c_str());
    return cli::exit_usage;
  }
  std::signal(SIGPIPE, SIG_IGN);
  log::set_up(spdlog::level::from_str(flags.log_level));
  using cli::ColourMode;
  cli::set_colour_mode(flags.color == "always"  ? ColourMode::always
                       : flags.color == "never" ? ColourMode::never
                                                : ColourMode::automatic);
  try {
    return chosen();
  } catch (const SandboxArgumentError& error) {
    return complain(error, cli::exit_usage);
  } catch (const SandboxUnavailableError& error) {
    return complain(error, cli::exit_unavailable);
  } catch (const std::exception& error) {
    return complain(error, cli::exit_failure);
  }
}
