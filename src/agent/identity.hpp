// The agent's own user and the users it acts for.
//
// The agent is uid 0 of the sandbox with the capabilities setuid, setgid and kill, and nothing else. A program never
// has uid 0, so it can neither signal nor trace the agent, its supervisors, zygotes and workers.
#pragma once

#include <sys/types.h>

#include <utility>

#include "core/result.hpp"

namespace cloche::agent {

constexpr uid_t agent_uid = 0;

// For good: all three user and group ids, no supplementary groups, and so no capability. Async-signal-safe but for the
// error's words.
bool become(uid_t uid, gid_t gid);

// Rights of the user on files, while the real and saved ids stay the agent's, so that the user's programs cannot
// signal the process. For a forked worker.
Status borrow_file_rights(uid_t uid, gid_t gid);

// The same for a while, in the agent itself, which then must not wait for anybody: a file that is new, in a directory
// of the user's. It ends with the object; an agent that could not have its own rights back ends.
class BorrowedRights {
 public:
  static Result<BorrowedRights> of(uid_t uid, gid_t gid);
  BorrowedRights(BorrowedRights&& other) noexcept : borrowed_(std::exchange(other.borrowed_, false)) {}
  BorrowedRights& operator=(BorrowedRights&&) = delete;
  ~BorrowedRights();

 private:
  BorrowedRights() = default;
  bool borrowed_ = true;
};

// SIGKILL for every process of this user, in one system call, so that none can fork away. The caller must be
// process 1, which cannot be hit itself.
void kill_all_of(uid_t uid);

// The calling process cannot be traced or dumped by anybody.
void hide_memory();

}  // namespace cloche::agent
