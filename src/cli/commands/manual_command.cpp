// `cloche manual`: prints the man page.
#include "cli/command.hpp"
#include "cli/text/print.hpp"
#include "cli/tree/manual.hpp"

namespace cloche::cli {

void add_manual_command(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("manual", "Print the man page");
  command->footer("To read it:\n  cloche manual | man -l -");
  command->callback([&app, &chosen] { chosen = [&app] { return print_text(manual_page(app, CLOCHE_VERSION)); }; });
}

}  // namespace cloche::cli
