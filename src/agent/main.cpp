// The program inside every sandbox. `init` is how a backend starts it; a zygote's run starts it with `supervise`.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "agent/agent.hpp"
#include "agent/supervisor.hpp"
#include "agent/version.hpp"

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "init") cloche::agent::run_agent();
  if (verb == "supervise" && argc == 4) {
    cloche::agent::supervise_existing(static_cast<pid_t>(std::atoi(argv[3])), std::atoi(argv[2]));
  }
  if (verb == "version") {
    std::printf("cloche-agent %s\n", cloche::agent::version);
    return 0;
  }
  std::fprintf(stderr, "cloche-agent runs inside sandboxes; it is started by Cloche.\n");
  return 64;
}
