#include "bench/alternatives/bubblewrap.hpp"

#include "process/programs.hpp"

namespace cloche::bench {

std::vector<std::string> in_bubblewrap(const std::vector<std::string>& argv) {
  const auto program = process::find_program("bwrap");
  if (!program) return {};
  std::vector<std::string> all{*program,    "--unshare-all", "--die-with-parent",
                               "--ro-bind", "/usr",          "/usr",
                               "--symlink", "usr/bin",       "/bin",
                               "--symlink", "usr/lib",       "/lib",
                               "--symlink", "usr/lib64",     "/lib64",
                               "--proc",    "/proc",         "--dev",
                               "/dev",      "--tmpfs",       "/tmp"};
  all.insert(all.end(), argv.begin(), argv.end());
  return all;
}

}  // namespace cloche::bench
