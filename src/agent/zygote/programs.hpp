// The programs of a zygote, carried by the agent: its Python source, and what runs in its forks beside Python, in C and
// without a library, handed over as sealed files in memory.
#pragma once

#include <string>
#include <string_view>

namespace cloche::agent {

std::string zygote_source();          // run.py, hot_pages.py, zygote.py, in this order
std::string script_start_source();    // figures.py, script_start.py
std::string_view fork_run_library();  // fork_run.c
std::string_view watcher_program();   // watcher.c

}  // namespace cloche::agent
