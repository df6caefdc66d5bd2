#include "agent/prepare/pod.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "agent/agent.hpp"
#include "agent/relay/relay.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

constexpr int least_arguments = 4;

// A server may choose a uid that no other pod of a node has.
constexpr std::uint32_t most_pod_id = 0x7fff'ffff;

Result<std::uint32_t> parse_pod_id(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0 || number > most_pod_id)
    return fail(ErrorCode::invalid_argument, "invalid id '" + std::string(text) + "'");
  return number;
}

// Changes the mode first: that of another user's directory needs one more capability.
Status set_owner(const std::string& path, uid_t uid, gid_t gid, mode_t mode) {
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return fail_errno("open " + path);
  if (::fchmod(directory.get(), mode) != 0) return fail_errno("change the mode of " + path);
  if (uid == ::geteuid() && gid == ::getegid()) return {};
  if (::fchown(directory.get(), uid, gid) != 0) return fail_errno("change the owner of " + path);
  return {};
}

[[noreturn]] void stop_pod(const Error& error) {
  std::fprintf(stderr, "cloche-agent: pod: %s\n", error.message.c_str());
  std::_Exit(1);
}

}  // namespace

Result<PodVolumes> parse_pod_volumes(int count, char** arguments) {
  if (count < least_arguments)
    return fail(ErrorCode::invalid_argument, "expected UID GID WORK_DIR OWN_DIR SHARED_DIR...");
  PodVolumes volumes;
  CLOCHE_TRY(volumes.uid, parse_pod_id(arguments[0]));
  CLOCHE_TRY(volumes.gid, parse_pod_id(arguments[1]));
  volumes.work_dir = arguments[2];
  volumes.own = arguments[3];
  volumes.shared.assign(arguments + least_arguments, arguments + count);
  return volumes;
}

Status prepare_volumes(const PodVolumes& volumes) {
  CLOCHE_CHECK(set_owner(volumes.own, ::geteuid(), ::getegid(), 0700));
  for (const std::string& path : volumes.shared) CLOCHE_CHECK(set_owner(path, ::geteuid(), ::getegid(), 01777));
  return set_owner(volumes.work_dir, volumes.uid, volumes.gid, 0755);
}

Status give_up_chown() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return fail_errno("read the capabilities");
  constexpr std::uint32_t chown = 1U << CAP_CHOWN;
  sets[0].effective &= ~chown;
  sets[0].permitted &= ~chown;
  sets[0].inheritable &= ~chown;
  if (::syscall(SYS_capset, &header, sets) != 0) return fail_errno("give up the capability chown");
  return {};
}

void run_pod(int count, char** arguments) {
  if (::getpid() != 1) stop_pod({ErrorCode::unsupported, "must be process 1"});
  const auto volumes = parse_pod_volumes(count, arguments);
  if (!volumes) stop_pod(volumes.error());
  ::umask(0022);
  if (const Status done = prepare_volumes(*volumes); !done) stop_pod(done.error());
  if (const Status done = give_up_chown(); !done) stop_pod(done.error());
  // Without this, a program of root that is started later gets back what was given up.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) stop_pod(errno_error("no new privileges", errno));
  const pid_t relay = start_relay_below();
  run_agent(relay);
}

}  // namespace cloche::agent
