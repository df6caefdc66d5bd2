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

// Permanently: sets all three user and group ids, and so drops all capabilities. `group` is the only supplementary
// group; zero: none. Async-signal-safe.
bool become(uid_t uid, gid_t gid, gid_t group = 0);

// Acts as the user, while the real and saved ids stay the agent's, so that the user's programs cannot signal the
// process. For a forked worker of a reset, beside which no program runs.
Status borrow_rights(uid_t uid, gid_t gid);

// Rights of the user on files, and nothing else of the user's: by the ids of file access, so that no program can change
// the priority, the affinity or the limits of the process either. Where the kernel has no such ids (gVisor), these are
// the effective ids. For a forked worker.
Status borrow_file_rights(uid_t uid, gid_t gid);

// The same for a while, in the agent itself, which then must not wait for anything: a file that is new, in a directory
// of the user's. It ends with the object; an agent that cannot have its own rights back ends.
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

// A signal for every process of this user, in one system call, so that none can fork away. The caller must be process
// 1, which cannot be hit itself.
void signal_all_of(uid_t uid, int number);

// The same, several times, by a child: for kernels that let a process 1 be hit while it acts for the user (gVisor), and
// while programs live that would try. They can hit the child; then less comes of it.
void signal_all_by_child(uid_t uid, int number, int times);

// The calling process cannot be traced or dumped.
void hide_memory();

}  // namespace cloche::agent
