// The agent's own user and the users it acts for.
//
// The agent is uid 0 of the sandbox with the capabilities setuid, setgid and kill, and nothing else. A program never
// has uid 0, so it can neither signal nor trace the agent, its supervisors, zygotes and workers. In a sandbox with
// root, programs may have uid 0, and the agent has the capabilities that these get; such a sandbox is never reset.
#pragma once

#include <sys/types.h>

#include <utility>

#include "core/result.hpp"

namespace cloche::agent {

constexpr uid_t agent_uid = 0;

// Whether programs and file operations may have uid 0. The server says so in its hello.
void allow_root(bool is_allowed);
bool is_root_allowed();

// Whether a program or a file operation may have these ids: root's together, where it is allowed, and no part of them
// otherwise.
bool is_allowed_user(uid_t uid, gid_t gid);

// Permanently: sets all three user and group ids, and so drops all capabilities unless it is root. `group` is the only
// supplementary group; zero: none. Async-signal-safe.
bool become(uid_t uid, gid_t gid, gid_t group = 0);

// Acts as the user, while the real and saved ids stay the agent's, so that the user's programs cannot signal the
// process. For a forked worker of a reset, beside which no program runs.
Status take_user_ids(uid_t uid, gid_t gid);

// Takes the file permissions of the user and nothing else, by the ids for file access, so that no program can change
// the priority, the affinity or the limits of the process either. On a kernel without such ids (gVisor) it takes the
// effective ids. For a forked worker.
Status take_user_file_access(uid_t uid, gid_t gid);

// The same temporarily, in the agent itself, which then must not wait for anything: for a new file in a directory of
// the user. It ends with the object; an agent that cannot restore its own ids exits.
class UserFileAccess {
 public:
  static Result<UserFileAccess> of(uid_t uid, gid_t gid);
  UserFileAccess(UserFileAccess&& other) noexcept : taken_(std::exchange(other.taken_, false)) {}
  UserFileAccess& operator=(UserFileAccess&&) = delete;
  ~UserFileAccess();

 private:
  UserFileAccess() = default;
  bool taken_ = true;
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
