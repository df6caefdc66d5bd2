#include "backend/kernel/host_counters.hpp"

#include <cstdint>
#include <fstream>

namespace cloche {

namespace {

struct Counter {
  const char* path;
  const char* name;  // as sysctl has it
  std::uint64_t least;
  std::uint64_t better;
};

constexpr Counter counters[] = {
    {"kernel/pid_max", "kernel.pid_max", 65'536, 4'194'304},
    {"kernel/pty/max", "kernel.pty.max", 4'096, 16'384},
    {"fs/inotify/max_user_instances", "fs.inotify.max_user_instances", 128, 8'192},
    {"fs/file-max", "fs.file-max", 500'000, 10'000'000},
};

}  // namespace

Finding examine_host_counters(const std::string& directory) {
  Finding finding{"kernel counters", Finding::Level::good, {}, {}};
  for (const Counter& counter : counters) {
    std::uint64_t value = 0;
    if (!(std::ifstream(directory + "/" + counter.path) >> value) || value >= counter.least) continue;
    finding.level = Finding::Level::warning;
    finding.detail += std::string(finding.detail.empty() ? "" : ", ") + counter.name + " is " + std::to_string(value);
    finding.advice += std::string(finding.advice.empty() ? "" : "; ") + "sysctl -w " + counter.name + "=" +
                      std::to_string(counter.better);
  }
  if (finding.detail.empty()) finding.detail = "large enough for many sandboxes";
  return finding;
}

}  // namespace cloche
