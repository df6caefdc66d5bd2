#include "agent/identity.hpp"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace cloche::agent {

namespace {

constexpr auto unchanged_uid = static_cast<uid_t>(-1);
constexpr auto unchanged_gid = static_cast<gid_t>(-1);

// setfsuid() reports no error: it returns the id from before, whatever comes of it.
uid_t file_uid() { return static_cast<uid_t>(::setfsuid(unchanged_uid)); }
gid_t file_gid() { return static_cast<gid_t>(::setfsgid(unchanged_gid)); }

// Tried once: gVisor has none.
bool has_file_ids() {
  static const bool has = [] {
    constexpr uid_t somebody = 1;
    ::setfsuid(somebody);
    const bool taken = file_uid() == somebody;
    ::setfsuid(agent_uid);
    return taken && file_uid() == agent_uid;
  }();
  return has;
}

Status set_file_ids(uid_t uid, gid_t gid) {
  // The group first: a process that has the user's rights may not choose it any more.
  ::setfsgid(gid);
  ::setfsuid(uid);
  if (file_uid() != uid || file_gid() != gid)
    return fail(ErrorCode::internal, "cannot take the user's file permissions");
  return {};
}

bool root_is_allowed = false;

Status check_user(uid_t uid, gid_t gid) {
  if (!is_allowed_user(uid, gid)) return fail(ErrorCode::invalid_argument, "file operations must not run as root");
  if (::setgroups(0, nullptr) != 0) return fail_errno("setgroups");
  return {};
}

Status set_effective_ids(uid_t uid, gid_t gid) {
  if (::setresgid(unchanged_gid, gid, unchanged_gid) != 0) return fail_errno("setresgid");
  if (::setresuid(unchanged_uid, uid, unchanged_uid) != 0) return fail_errno("setresuid");
  return {};
}

}  // namespace

void allow_root(bool is_allowed) { root_is_allowed = is_allowed; }

bool is_root_allowed() { return root_is_allowed; }

bool is_allowed_user(uid_t uid, gid_t gid) {
  if (uid == agent_uid && gid == 0) return root_is_allowed;
  return uid != agent_uid && gid != 0;
}

bool become(uid_t uid, gid_t gid, gid_t group) {
  if (!is_allowed_user(uid, gid)) return false;
  if (::setgroups(group != 0 ? 1 : 0, &group) != 0) return false;
  if (::setresgid(gid, gid, gid) != 0) return false;
  if (::setresuid(uid, uid, uid) != 0) return false;
  if (uid == agent_uid) return ::geteuid() == uid && ::getegid() == gid;
  // Verified, not hoped: nothing of root must be left to come back to.
  return ::setresuid(agent_uid, agent_uid, agent_uid) != 0 && ::geteuid() == uid && ::getegid() == gid;
}

Status take_user_ids(uid_t uid, gid_t gid) {
  CLOCHE_CHECK(check_user(uid, gid));
  return set_effective_ids(uid, gid);
}

Status take_user_file_access(uid_t uid, gid_t gid) {
  CLOCHE_CHECK(check_user(uid, gid));
  return has_file_ids() ? set_file_ids(uid, gid) : set_effective_ids(uid, gid);
}

Result<UserFileAccess> UserFileAccess::of(uid_t uid, gid_t gid) {
  UserFileAccess rights;  // restored even if only half of them could be taken
  CLOCHE_CHECK(take_user_file_access(uid, gid));
  return rights;
}

UserFileAccess::~UserFileAccess() {
  if (!taken_) return;
  if (has_file_ids()) {
    if (!set_file_ids(agent_uid, 0)) std::abort();
    return;
  }
  // The user first: only a process that is the agent again may be of its group.
  if (::setresuid(unchanged_uid, agent_uid, unchanged_uid) != 0) std::abort();
  if (::setresgid(unchanged_gid, 0, unchanged_gid) != 0) std::abort();
}

void signal_all_of(uid_t uid, int number) {
  // With real and effective ids of the user, kill(-1) reaches exactly the user's processes; the saved id restores ours.
  // On Linux a process 1 is immune to signals from its own namespace. On gVisor it is not: a program that tries can end
  // the sandbox at that moment, and then the sandbox is replaced. The proof of a reset checks what else can be changed
  // in the agent: its priority and processors.
  if (::setresuid(uid, uid, agent_uid) != 0) return;
  ::kill(-1, number);
  if (::setresuid(agent_uid, agent_uid, agent_uid) != 0) std::abort();
}

void signal_all_by_child(uid_t uid, int number, int times) {
  constexpr int timeout_ms = 200;
  const pid_t child = ::fork();
  if (child == 0) {
    // The saved id stays the agent's: no program can trace the child.
    if (::setresuid(uid, uid, agent_uid) != 0) ::_exit(1);
    for (int i = 0; i < times; ++i) ::kill(-1, number);
    ::_exit(0);
  }
  if (child < 0) return;
  for (int waited = 0; waited < timeout_ms; ++waited) {
    if (::waitpid(child, nullptr, WNOHANG) == child) return;
    ::poll(nullptr, 0, 1);
  }
  // It was stopped.
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

void hide_memory() { ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

}  // namespace cloche::agent
