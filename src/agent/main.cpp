// The program inside every sandbox. `init DIRECTORY...` is how a backend starts it, or `relay` where its connections
// may be cut, with one `dial` for each of them; `prepare` comes first where the system is not one that Cloche made.
// `pod` does all of that as process 1 of a pod, and `install` copies this program to where a pod finds it. What watches
// a zygote's run starts it with `supervise`; under the name `sudo` it is that program.
#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "agent/agent.hpp"
#include "agent/exec/supervisor.hpp"
#include "agent/prepare/install.hpp"
#include "agent/prepare/pod.hpp"
#include "agent/prepare/prepare.hpp"
#include "agent/relay/dial.hpp"
#include "agent/relay/relay.hpp"
#include "agent/sudo/client.hpp"
#include "agent/version.hpp"

namespace {

// The format of zygote/watcher.c: limits, start, CPU time before it, end, and exit status. Times are microseconds of
// the monotonic clock.
cloche::agent::WatcherReport watched(char** texts) {
  using std::chrono::microseconds;
  using Time = std::chrono::steady_clock::time_point;
  const auto number = [texts](int i) { return std::strtoull(texts[i], nullptr, 10); };
  cloche::agent::WatcherReport seen;
  seen.limits = {.wall_ms = number(0), .cpu_ms = number(1)};
  seen.started = Time(microseconds(number(2)));
  seen.spent_us = number(3);
  if (number(4) != 0) seen.ended = Time(microseconds(number(4)));
  seen.status = static_cast<int>(number(5));
  return seen;
}

// A flag of stat() that coreutils set, and that older releases of gVisor refuse.
bool knows_no_automount() {
  struct stat about;
  return ::fstatat(AT_FDCWD, "/", &about, AT_NO_AUTOMOUNT) == 0;
}

// Directories that gVisor made on the way to a mount: they are root's, where a directory of the user is expected. No
// program runs yet that could replace one of them.
void open_to_user(int count, char** directories) {
  for (int i = 0; i < count; ++i) {
    if (::chmod(directories[i], 0777) == 0) continue;
    std::perror(directories[i]);
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view called = argc > 0 ? argv[0] : "";
  if (called.substr(called.rfind('/') + 1) == "sudo") cloche::agent::run_sudo(argc, argv);
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "init") {
    open_to_user(argc - 2, argv + 2);
    cloche::agent::run_agent();
  }
  if (verb == "relay") cloche::agent::run_relay(argc > 2 && std::string_view(argv[2]) == "foreground");
  if (verb == "dial") cloche::agent::run_dial(argc > 2 && std::string_view(argv[2]) == "patient");
  if (verb == "supervise" && argc == 4) {
    cloche::agent::supervise_existing(static_cast<pid_t>(std::atoi(argv[3])), std::atoi(argv[2]));
  }
  if (verb == "supervise" && argc == 10) {
    cloche::agent::supervise_watched(static_cast<pid_t>(std::atoi(argv[3])), std::atoi(argv[2]), watched(argv + 4));
  }
  if (verb == "pod") cloche::agent::run_pod(argc - 2, argv + 2);
  if (verb == "install" && argc == 3) return cloche::agent::run_install(argv[2]);
  if (verb == "prepare") return cloche::agent::run_prepare(argc - 2, argv + 2);
  if (verb == "version") {
    std::printf("cloche-agent %s%s\n", cloche::agent::version, knows_no_automount() ? " no-automount" : "");
    return 0;
  }
  std::fprintf(stderr, "cloche-agent runs inside sandboxes; it is started by Cloche.\n");
  return 64;
}
