// The end of all that is in a sandbox's cgroup. What counts is that the list of processes is empty afterwards.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/oci/cgroup/cgroup.hpp"
#include "backend/oci/files.hpp"

namespace cloche::oci {

namespace {

using namespace std::chrono_literals;

struct Victim {
  pid_t pid;
  UniqueFd fd;
};

std::string name_all(const std::vector<pid_t>& pids) {
  std::string names;
  for (const pid_t pid : pids) names += (names.empty() ? "" : ", ") + std::to_string(pid);
  return names;
}

// Waits until all have ended, for no longer than a moment: new ones may have been forked meanwhile.
void wait_for_end(const std::vector<Victim>& victims, Deadline deadline) {
  const Deadline moment = Deadline::after(50ms).sooner(deadline);
  for (const Victim& victim : victims) {
    pollfd ended = {victim.fd.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(moment.left()).count();
    ::poll(&ended, 1, static_cast<int>(left));
  }
}

}  // namespace

Status Cgroup::kill_all(Deadline deadline) const {
  while (true) {
    CLOCHE_TRY(const auto listed, processes());
    if (listed.empty()) return {};
    std::vector<Victim> victims;
    for (const pid_t pid : listed) {
      UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
      if (fd) victims.push_back({pid, std::move(fd)});
    }
    // A process that is still listed is the one behind the descriptor: its pid was not reused in between.
    CLOCHE_TRY(const auto still, processes());
    for (const Victim& victim : victims) {
      if (std::ranges::binary_search(still, victim.pid)) {
        ::syscall(SYS_pidfd_send_signal, victim.fd.get(), SIGKILL, nullptr, 0);
      }
    }
    // In one step if the kernel supports it, so that nothing forks faster than it is killed (Linux 5.14).
    for (const CgroupPlace& place : places_) {
      if (place.version == CgroupVersion::v2) (void)write_control(place.directory + "/cgroup.kill", "1");
    }
    // A process that is frozen by version 1 has to continue to end.
    if (!v1_.freezer.empty()) (void)write_control(v1_.freezer + "/freezer.state", "THAWED");
    wait_for_end(victims, deadline);
    if (deadline.passed()) {
      CLOCHE_TRY(const auto left, processes());
      if (left.empty()) return {};
      return fail(ErrorCode::timeout, "processes " + name_all(left) + " of the sandbox were killed but have not ended");
    }
    // A process that hangs in the kernel stays listed for long; there is no event for that.
    if (victims.empty()) std::this_thread::sleep_for(1ms);
  }
}

}  // namespace cloche::oci
