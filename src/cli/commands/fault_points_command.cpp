// `cloche fault-points`: the steps at which a test can make this program fail. Hidden, and only in builds with tests.
#include "cli/command.hpp"
#include "core/fault_point.hpp"

#ifdef CLOCHE_FAULT_POINTS
#include <cstdio>
#endif

namespace cloche::cli {

#ifdef CLOCHE_FAULT_POINTS

void add_fault_points_command(CLI::App& app, Action& chosen) {
  auto* command = app.add_subcommand("fault-points", "List the steps at which a test can make this program fail");
  command->group("");
  command->callback([&chosen] {
    chosen = [] {
      for (const faults::Point& point : faults::all()) {
        const bool can_fail = point.kind == faults::Kind::fallible;
        std::printf("%.*s %s\n", static_cast<int>(point.name.size()), point.name.data(),
                    can_fail ? "fallible" : "plain");
      }
      return 0;
    };
  });
}

#else

void add_fault_points_command(CLI::App&, Action&) {}

#endif

}  // namespace cloche::cli
