// The sandbox's processes, as reported by /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace cloche::agent {

struct ProcessRow {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  std::uint64_t cpu_us = 0;  // its own, and that of the children it has waited for
};

std::vector<ProcessRow> read_process_table();

// All below `root`, itself not included.
std::vector<ProcessRow> descendants(const std::vector<ProcessRow>& table, pid_t root);

}  // namespace cloche::agent
