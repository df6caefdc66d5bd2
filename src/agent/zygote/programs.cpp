#include "agent/zygote/programs.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "agent/figures_script.hpp"
#include "agent/hot_pages_script.hpp"
#include "agent/run_script.hpp"
#include "agent/script_start_script.hpp"
#include "agent/zygote_script.hpp"
#include "core/embedded_file.hpp"

CLOCHE_EMBED_FILE(fork_run, CLOCHE_FORK_RUN);
CLOCHE_EMBED_FILE(watcher, CLOCHE_WATCHER);

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // newer than the C library; where it is not known, every such file can be executed
#endif

namespace cloche::agent {

std::string zygote_source() { return std::string(run_script) + hot_pages_script + zygote_script; }
std::string script_start_source() { return std::string(figures_script) + script_start_script; }
std::string_view fork_run_library() { return CLOCHE_EMBEDDED(fork_run); }
std::string_view watcher_program() { return CLOCHE_EMBEDDED(watcher); }

Result<UniqueFd> program_file(const char* name, std::string_view bytes) {
  UniqueFd fd(::memfd_create(name, MFD_EXEC));
  if (!fd) fd.reset(::memfd_create(name, 0));
  if (!fd) return fail_errno("memfd_create");
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return fail_errno("write a program");
  }
  return fd;
}

}  // namespace cloche::agent
