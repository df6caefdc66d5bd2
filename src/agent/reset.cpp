#include "agent/reset.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "agent/identity.hpp"
#include "agent/leftovers.hpp"
#include "agent/process_table.hpp"
#include "agent/writable_places.hpp"

namespace cloche::agent {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{4};

std::uint32_t reap_all(const std::set<pid_t>& spared, bool& spared_died) {
  std::uint32_t reaped = 0;
  for (;;) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG | __WALL);
    if (pid <= 0) return reaped;
    ++reaped;
    if (spared.contains(pid)) spared_died = true;
  }
}

std::vector<pid_t> others(const std::set<pid_t>& spared) {
  std::vector<pid_t> found;
  for (const ProcessRow& row : read_process_table()) {
    if (row.pid != ::getpid() && !spared.contains(row.pid)) found.push_back(row.pid);
  }
  return found;
}

std::uint32_t end_processes(const ResetPlan& plan) {
  std::uint32_t killed = 0;
  bool spared_died = false;
  const auto deadline = Clock::now() + patience;
  for (;;) {
    // First the users' programs, all at once; then what is left one by one: supervisors, workers, strangers.
    for (const auto& [uid, gid] : plan.users) kill_all_of(uid);
    for (const pid_t pid : others(plan.spared)) ::kill(pid, SIGKILL);
    killed += reap_all(plan.spared, spared_died);
    if (others(plan.spared).empty() || Clock::now() >= deadline) return killed;
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace

wire::ResetReport reset_sandbox(const ResetPlan& plan) {
  wire::ResetReport report;
  report.killed = end_processes(plan);
  // What one user has put into another's directory goes in turns: as long as somebody still gets something out.
  for (std::uint64_t removed = 1; removed > 0;) {
    removed = 0;
    for (const auto& [uid, gid] : plan.users) removed += wipe_as(uid, gid, plan.keep);
    report.removed += removed;
    if (plan.users.size() < 2) break;
  }

  for (const pid_t pid : others(plan.spared)) report.leftovers.push_back("process " + std::to_string(pid));
  for (const auto& [uid, gid] : plan.users) find_leftovers_as(uid, gid, plan.keep, report.leftovers);
  return report;
}

}  // namespace cloche::agent
