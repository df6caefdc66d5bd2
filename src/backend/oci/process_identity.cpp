#include "backend/oci/process_identity.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sstream>

#include "backend/oci/files.hpp"
#include "core/unique_fd.hpp"

namespace cloche::oci {

std::optional<std::uint64_t> parse_start_time(std::string_view stat) {
  // The program's name is in parentheses and may contain anything, even parentheses.
  const auto end_of_name = stat.rfind(')');
  if (end_of_name == stat.npos) return std::nullopt;
  std::istringstream fields{std::string(stat.substr(end_of_name + 1))};
  std::string state;
  fields >> state;
  if (state.empty() || state == "Z" || state == "X") return std::nullopt;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  std::uint64_t start = 0;
  if (!(fields >> start)) return std::nullopt;
  return start;
}

std::optional<ProcessIdentity> identify(pid_t pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const auto start = stat ? parse_start_time(*stat) : std::nullopt;
  if (!start) return std::nullopt;
  return ProcessIdentity{pid, *start};
}

ProcessIdentity identify_self() { return identify(::getpid()).value_or(ProcessIdentity{}); }

bool is_alive(const ProcessIdentity& process) { return process.pid > 0 && identify(process.pid) == process; }

void kill_process(const ProcessIdentity& process) {
  if (process.pid <= 0) return;
  const UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  // Looked at after opening: the descriptor cannot change its process any more.
  if (fd && is_alive(process)) ::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0);
}

Result<std::string> boot_id() {
  CLOCHE_TRY(std::string id, read_file("/proc/sys/kernel/random/boot_id"));
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

}  // namespace cloche::oci
