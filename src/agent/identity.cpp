#include "agent/identity.hpp"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>

namespace cloche::agent {

bool become(uid_t uid, gid_t gid) {
  if (uid == agent_uid || gid == 0) return false;
  if (::setgroups(0, nullptr) != 0) return false;
  if (::setresgid(gid, gid, gid) != 0) return false;
  if (::setresuid(uid, uid, uid) != 0) return false;
  // Verified, not hoped: nothing of root must be left to come back to.
  return ::setresuid(agent_uid, agent_uid, agent_uid) != 0 && ::geteuid() == uid && ::getegid() == gid;
}

Status borrow_file_rights(uid_t uid, gid_t gid) {
  if (uid == agent_uid || gid == 0) return fail(ErrorCode::invalid_argument, "files cannot be touched as root");
  if (::setgroups(0, nullptr) != 0) return fail_errno("setgroups");
  if (::setresgid(static_cast<gid_t>(-1), gid, static_cast<gid_t>(-1)) != 0) return fail_errno("setresgid");
  if (::setresuid(static_cast<uid_t>(-1), uid, static_cast<uid_t>(-1)) != 0) return fail_errno("setresuid");
  return {};
}

Result<BorrowedRights> BorrowedRights::of(uid_t uid, gid_t gid) {
  BorrowedRights rights;  // given back also when only the half of them was to be had
  CLOCHE_CHECK(borrow_file_rights(uid, gid));
  return rights;
}

BorrowedRights::~BorrowedRights() {
  if (!borrowed_) return;
  // The user first: only who is the agent again may be of its group.
  if (::setresuid(static_cast<uid_t>(-1), agent_uid, static_cast<uid_t>(-1)) != 0) std::abort();
  if (::setresgid(static_cast<gid_t>(-1), 0, static_cast<gid_t>(-1)) != 0) std::abort();
}

void kill_all_of(uid_t uid) {
  // With real and effective ids of the user, kill(-1) reaches exactly the user's processes; the saved id brings us
  // back. A process 1 is immune to signals from its own namespace, so the moment in between is safe.
  if (::setresuid(uid, uid, agent_uid) != 0) return;
  ::kill(-1, SIGKILL);
  if (::setresuid(agent_uid, agent_uid, agent_uid) != 0) std::abort();
}

void hide_memory() { ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

}  // namespace cloche::agent
