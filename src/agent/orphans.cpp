#include "agent/orphans.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/identity.hpp"
#include "agent/process_table.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

constexpr std::chrono::seconds patience{3};
constexpr const char* mark_name = "CLOCHE_EXEC=";

std::string read_proc(pid_t pid, const char* file) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[8192];
  for (ssize_t n = 0; fd && text.size() < (1 << 20) && (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

// Our own processes all have the agent's real uid.
bool is_users(pid_t pid) {
  const std::string status = read_proc(pid, "status");
  const auto at = status.find("\nUid:");
  return at != std::string::npos && static_cast<uid_t>(std::atol(status.c_str() + at + 5)) != agent_uid;
}

bool belongs(pid_t pid, const std::string& mark) {
  // Variables are separated by NUL; the first has none before it.
  const std::string environment = '\0' + read_proc(pid, "environ");
  const std::string any = '\0' + std::string(mark_name);
  return environment.find('\0' + mark + '\0') != std::string::npos || environment.find(any) == std::string::npos;
}

void end_with_descendants(const std::vector<ProcessRow>& table, pid_t pid) {
  for (const ProcessRow& below : descendants(table, pid)) ::kill(below.pid, SIGKILL);
  ::kill(pid, SIGKILL);
}

}  // namespace

bool has_subreapers() {
  // Asked in a child: gVisor grants it to process 1, which is everybody's reaper anyway, and to nobody else.
  static const bool has = [] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : 1);
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  }();
  return has;
}

std::string orphan_mark(std::uint64_t number) { return mark_name + std::to_string(number); }

void end_orphans(const std::string& mark) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (bool found = true; found && std::chrono::steady_clock::now() < deadline;) {
    found = false;
    const auto table = read_process_table();
    for (const ProcessRow& row : table) {
      if (row.parent != ::getpid() || !is_users(row.pid) || !belongs(row.pid, mark)) continue;
      // One that looks like a zombie may have threads that go on.
      found = found || row.state != 'Z';
      end_with_descendants(table, row.pid);
    }
    if (found) ::poll(nullptr, 0, 5);
  }
}

void end_tree_of_lost_supervisor(pid_t program) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (bool found = true; found && std::chrono::steady_clock::now() < deadline;) {
    found = false;
    const auto table = read_process_table();
    for (const ProcessRow& row : table) {
      const bool is_ours = row.parent == ::getpid();
      if (row.pid != program && !(is_ours && is_users(row.pid))) continue;
      // The supervisor's end is seen before its children become ours; the others come with the program.
      found = found || row.state != 'Z' || !is_ours;
      end_with_descendants(table, row.pid);
    }
    if (found) ::poll(nullptr, 0, 5);
  }
}

}  // namespace cloche::agent
