// The machine and the programs that were measured: without them a figure says nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cloche::bench {

struct Machine {
  std::string cpu;
  unsigned cores = 0;
  double memory_gib = 0;
  std::string kernel;
  std::string load;   // averages of the last 1, 5 and 15 minutes, before anything was measured
  std::string date;   // UTC
  std::string build;  // how Cloche was compiled
  std::string label;  // what the caller calls it: a commit, say
  std::vector<std::pair<std::string, std::string>> versions;  // of the programs measured against
};

// Asks the kernel and the programs. The Docker engine's version is for the caller to add.
Machine describe_machine(std::string label);

}  // namespace cloche::bench
