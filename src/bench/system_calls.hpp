// How many system calls processes make, counted by strace.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/surroundings.hpp"

namespace cloche::bench {

using SystemCalls = std::map<std::string, double>;  // by name

// The system calls of these processes and their descendants during the work. `not_found` without strace.
Result<SystemCalls> count_system_calls(Surroundings& surroundings, const std::vector<pid_t>& processes,
                                       const std::function<Status()>& work);

// The table of `strace -c`, without its total.
SystemCalls parse_strace_table(const std::string& text);

}  // namespace cloche::bench
