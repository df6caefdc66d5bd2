#include "agent/reset/process_table.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

// Fields of /proc/<pid>/stat after the program's name, which may itself contain spaces and parentheses.
bool parse_stat(const char* text, ProcessRow& row) {
  const char* after_name = std::strrchr(text, ')');
  if (after_name == nullptr) return false;
  char state = 0;
  int parent = 0;
  unsigned long user = 0;
  unsigned long system = 0;
  long children_user = 0;
  long children_system = 0;
  const int got = std::sscanf(after_name + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &state,
                              &parent, &user, &system, &children_user, &children_system);
  if (got < 2) return false;
  row.state = state;
  row.parent = parent;
  static const long ticks = ::sysconf(_SC_CLK_TCK);
  row.cpu_us = (user + system + static_cast<unsigned long>(children_user + children_system)) * 1'000'000 /
               static_cast<unsigned long>(ticks);
  return true;
}

}  // namespace

std::vector<ProcessRow> read_process_table() {
  std::vector<ProcessRow> table;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return table;
  while (const dirent* entry = ::readdir(proc)) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (pid <= 0 || *end != '\0') continue;
    char path[32];
    std::snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
    if (!fd) continue;
    char text[1024];
    const ssize_t n = ::read(fd.get(), text, sizeof text - 1);
    if (n <= 0) continue;
    text[n] = '\0';
    ProcessRow row;
    row.pid = static_cast<pid_t>(pid);
    if (parse_stat(text, row)) table.push_back(row);
  }
  ::closedir(proc);
  return table;
}

std::vector<ProcessRow> descendants(const std::vector<ProcessRow>& table, pid_t root) {
  std::vector<ProcessRow> found;
  std::vector<pid_t> parents{root};
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (const ProcessRow& row : table) {
      if (row.parent == parent && row.pid != root) {
        found.push_back(row);
        parents.push_back(row.pid);
      }
    }
  }
  return found;
}

}  // namespace cloche::agent
