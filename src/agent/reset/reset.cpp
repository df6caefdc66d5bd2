#include "agent/reset/reset.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "agent/identity.hpp"
#include "agent/reset/leftovers.hpp"
#include "agent/reset/process_table.hpp"
#include "agent/reset/writable_places.hpp"
#include "core/unique_fd.hpp"
#include "relay/protocol.hpp"

namespace cloche::agent {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kill_timeout{4};

std::uint32_t reap_all() {
  std::uint32_t reaped = 0;
  while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0) ++reaped;
  return reaped;
}

// Entered from outside by the runtime, such as a connection of the server: it has no parent in this process namespace.
// A program's child always has one, and process 1 when that has ended. It must be root's, too: a program that Cloche
// did not start, for a user, is not spared.
bool has_entered(const ProcessRow& row) {
  if (row.parent != 0 || ::getpid() != 1) return false;
  struct stat about{};
  return ::stat(("/proc/" + std::to_string(row.pid)).c_str(), &about) == 0 && about.st_uid == agent_uid;
}

std::vector<pid_t> others(const ResetPlan& plan) {
  std::vector<pid_t> found;
  for (const ProcessRow& row : read_process_table()) {
    if (row.pid == ::getpid() || plan.spared.contains(row.pid)) continue;
    if (plan.spares_entered && has_entered(row)) continue;
    found.push_back(row.pid);
  }
  return found;
}

// Waits until one of them has ended or a millisecond has passed.
void wait_for_one_of(const std::vector<pid_t>& pids) {
  constexpr int timeout_ms = 1;
  std::vector<UniqueFd> handles;
  std::vector<pollfd> polled;
  for (const pid_t pid : pids) {
    UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // One that has ended is about to be reaped, or to become ours.
    pollfd ended{handle.get(), POLLIN, 0};
    if (!handle || ::poll(&ended, 1, 0) != 0) continue;
    polled.push_back(ended);
    handles.push_back(std::move(handle));
  }
  ::poll(polled.data(), polled.size(), timeout_ms);
}

std::uint32_t end_processes(const ResetPlan& plan) {
  std::uint32_t killed = 0;
  const auto deadline = Clock::now() + kill_timeout;
  for (;;) {
    // First the users' programs, all at once; then what is left one by one: supervisors, workers, strangers.
    for (const auto& [uid, gid] : plan.users) signal_all_of(uid, SIGKILL);
    for (const pid_t pid : others(plan)) ::kill(pid, SIGKILL);
    killed += reap_all();
    const auto left = others(plan);
    if (left.empty() || Clock::now() >= deadline) return killed;
    wait_for_one_of(left);
  }
}

}  // namespace

wire::ResetReport reset_sandbox(const ResetPlan& plan) {
  wire::ResetReport report;
  report.killed = end_processes(plan);
  // Files of one user in another user's directory need several turns, as long as something is removed.
  for (std::uint64_t removed = 1; removed > 0;) {
    removed = 0;
    for (const auto& [uid, gid] : plan.users) removed += wipe_as(uid, gid, plan.keep);
    report.removed += removed;
    if (plan.users.size() < 2) break;
  }

  for (const pid_t pid : others(plan)) report.leftovers.push_back("process " + std::to_string(pid));
  const std::string_view spared_socket = plan.spares_entered ? relay::socket_name : std::string_view();
  for (const auto& [uid, gid] : plan.users) find_leftovers_as(uid, gid, plan.keep, spared_socket, report.leftovers);
  return report;
}

}  // namespace cloche::agent
