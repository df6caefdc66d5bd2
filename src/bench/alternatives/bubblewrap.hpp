// bubblewrap: namespaces around one program, without limits, seccomp or anything kept warm.
#pragma once

#include <string>
#include <vector>

namespace cloche::bench {

// The command line for a program in it, with the host's /usr; empty where it is not installed.
std::vector<std::string> in_bubblewrap(const std::vector<std::string>& argv);

}  // namespace cloche::bench
