#include "agent/exec/orphans.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "agent/identity.hpp"
#include "agent/reset/process_table.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

constexpr std::chrono::seconds orphan_timeout{3};
// Rounds of looking and killing before all of the user's processes are stopped: what is left then changes its pid
// faster than it can be found.
constexpr int calm_rounds = 4;
constexpr int clean_looks = 2;
// More orphans than this are likely to fork: killing one makes room for another, stopping it does not.
constexpr std::ptrdiff_t crowd = 8;

std::set<gid_t>& living_marks() {
  static std::set<gid_t> marks;
  return marks;
}

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

struct Owner {
  bool is_user = false;
  bool has_living_mark = false;
};

Owner owner_of(pid_t pid) {
  Owner owner;
  const std::string status = read_proc(pid, "status");
  // Our own processes all have the agent's real uid. The last such line is the kernel's: a process can have a name of
  // several lines.
  const auto uid = status.rfind("\nUid:");
  owner.is_user = uid != std::string::npos && static_cast<uid_t>(std::atol(status.c_str() + uid + 5)) != agent_uid;
  if (const auto groups = status.rfind("\nGroups:"); groups != std::string::npos) {
    std::istringstream numbers(status.substr(groups + 8, status.find('\n', groups + 1) - groups - 8));
    for (gid_t group = 0; numbers >> group;) {
      // In a sandbox with root, a program can have the agent's uid; none of our own processes has a mark.
      owner.is_user |= group >= first_mark && group <= last_mark;
      owner.has_living_mark |= living_marks().contains(group);
    }
  }
  return owner;
}

void end_with_descendants(const std::vector<ProcessRow>& table, pid_t pid) {
  for (const ProcessRow& below : descendants(table, pid)) ::kill(below.pid, SIGKILL);
  ::kill(pid, SIGKILL);
}

}  // namespace

bool has_subreapers() {
  // Tried in a child: gVisor grants it only to process 1, which is the reaper of all processes anyway.
  static const bool has = [] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : 1);
    int status = 0;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
  }();
  return has;
}

Result<OrphanMark> OrphanMark::take() {
  static gid_t last = last_mark;
  // In turns, so that a mark rests as long as can be before it is given to another program.
  for (gid_t tried = first_mark; tried <= last_mark; ++tried) {
    last = last == last_mark ? first_mark : last + 1;
    if (living_marks().insert(last).second) return OrphanMark(last);
  }
  return fail(ErrorCode::limit_reached, "too many programs are running in this sandbox");
}

OrphanMark::~OrphanMark() {
  if (group_ != 0) living_marks().erase(group_);
}

namespace {

// Kills every orphan that belongs to no living program. True when there was one that is not among the `known`: also one
// that has ended by itself, because a process that hops from pid to pid leaves these behind.
bool kill_strays(std::set<pid_t>& known) {
  bool found = false;
  const auto table = read_process_table();
  for (const ProcessRow& row : table) {
    if (row.parent != ::getpid()) continue;
    const Owner owner = owner_of(row.pid);
    if (!owner.is_user || owner.has_living_mark) continue;
    // One that looks like a zombie may have threads that go on.
    end_with_descendants(table, row.pid);
    found |= known.insert(row.pid).second || row.state != 'Z';
  }
  return found;
}

std::vector<pid_t> stopped_processes() {
  std::vector<pid_t> stopped;
  for (const ProcessRow& row : read_process_table()) {
    if (row.state == 'T' || row.state == 't') stopped.push_back(row.pid);
  }
  return stopped;
}

// What hops is hit by a signal to all. Where other programs live it stops all of them for a moment.
bool kill_hoppers(uid_t uid, std::set<pid_t>& known) {
  constexpr int signals_a_round = 20;
  const bool others_live = !living_marks().empty();
  const auto stopped_before = others_live ? stopped_processes() : std::vector<pid_t>{};
  signal_all_by_child(uid, others_live ? SIGSTOP : SIGKILL, signals_a_round);
  const bool found = kill_strays(known);
  if (others_live) {
    signal_all_by_child(uid, SIGCONT, 1);
    for (const pid_t pid : stopped_before) ::kill(pid, SIGSTOP);
  }
  return found;
}

}  // namespace

void end_orphans(OrphanMark mark, uid_t uid) {
  mark = OrphanMark();
  std::set<pid_t> known;
  const bool is_crowd = std::ranges::count(read_process_table(), ::getpid(), &ProcessRow::parent) > crowd;
  // A signal to all of root's would hit our own.
  const auto kill_some = [&](bool is_calm) {
    return is_calm || uid == agent_uid ? kill_strays(known) : kill_hoppers(uid, known);
  };
  if (!kill_some(!is_crowd)) return;
  const auto deadline = std::chrono::steady_clock::now() + orphan_timeout;
  // A look can miss what hops: one that finds nothing is not enough.
  for (int round = 1, clean = 0; clean < clean_looks && std::chrono::steady_clock::now() < deadline; ++round) {
    ::poll(nullptr, 0, 2);
    clean = kill_some(round < calm_rounds && !is_crowd) ? 0 : clean + 1;
  }
}

void end_tree_of_lost_supervisor(pid_t program) {
  const auto deadline = std::chrono::steady_clock::now() + orphan_timeout;
  for (bool found = true; found && std::chrono::steady_clock::now() < deadline;) {
    found = false;
    const auto table = read_process_table();
    for (const ProcessRow& row : table) {
      const bool is_ours = row.parent == ::getpid();
      if (row.pid != program && !(is_ours && owner_of(row.pid).is_user)) continue;
      // The supervisor's end is seen before its children become ours; the others come with the program.
      found = found || row.state != 'Z' || !is_ours;
      end_with_descendants(table, row.pid);
    }
    if (found) ::poll(nullptr, 0, 5);
  }
}

}  // namespace cloche::agent
