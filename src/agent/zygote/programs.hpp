// What runs in a zygote's forks beside Python, in C and without a library: carried by the agent, handed over as files
// that are in memory only.
#pragma once

#include <string_view>

#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

std::string_view fork_run_library();  // fork_run.c
std::string_view watcher_program();   // watcher.c

// A descriptor of these bytes that an executed program inherits. Fails where the machine forbids to execute such files.
Result<UniqueFd> program_file(const char* name, std::string_view bytes);

}  // namespace cloche::agent
