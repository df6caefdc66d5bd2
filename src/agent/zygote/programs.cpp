#include "agent/zygote/programs.hpp"

#include "agent/figures_script.hpp"
#include "agent/hot_pages_script.hpp"
#include "agent/run_script.hpp"
#include "agent/script_start_script.hpp"
#include "agent/zygote_script.hpp"
#include "core/embedded_file.hpp"

CLOCHE_EMBED_FILE(fork_run, CLOCHE_FORK_RUN);
CLOCHE_EMBED_FILE(watcher, CLOCHE_WATCHER);

namespace cloche::agent {

std::string zygote_source() { return std::string(run_script) + hot_pages_script + zygote_script; }
std::string script_start_source() { return std::string(figures_script) + script_start_script; }
std::string_view fork_run_library() { return CLOCHE_EMBEDDED(fork_run); }
std::string_view watcher_program() { return CLOCHE_EMBEDDED(watcher); }

}  // namespace cloche::agent
