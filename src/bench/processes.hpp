// What the kernel reports about processes and their cgroups: memory, time, context switches.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche::bench {

// Processes in a cgroup whose path has this in it: a sandbox's or a container's id.
std::vector<pid_t> processes_in(std::string_view cgroup_part);
// Processes with all of these in their command line.
std::vector<pid_t> processes_with(const std::vector<std::string>& words);

// Memory in bytes; a page that several processes share counts in shares. nullopt where it cannot be read.
std::optional<double> proportional_memory(pid_t pid);
double resident_memory(pid_t pid);
// The most it had since reset_peak.
double peak_memory(pid_t pid);
void reset_peak(pid_t pid);

// Of all its threads, since each started.
std::uint64_t context_switches(pid_t pid);
std::chrono::nanoseconds cpu_time(pid_t pid);

// Kernel memory of the cgroup of a process (stacks, page tables, inodes), in bytes. nullopt if its path does not
// contain this: then the cgroup does not belong to the sandbox or container alone.
std::optional<double> kernel_memory_of_cgroup(pid_t pid, std::string_view cgroup_part);

}  // namespace cloche::bench
