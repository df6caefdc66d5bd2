// Pipes, terminals, and what a forked child must not keep.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <utility>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "wire/exec_messages.hpp"

namespace cloche::agent {

// Read end and write end, close-on-exec.
Result<std::pair<UniqueFd, UniqueFd>> make_pipe();

struct Terminal {
  UniqueFd master;
  UniqueFd slave;
};
// A pty whose slave belongs to the user.
Result<Terminal> open_terminal(uid_t uid, gid_t gid, const wire::WindowSize& size);
void resize_terminal(int master, const wire::WindowSize& size);

// In a forked child: closes every descriptor except these.
void close_all_but(std::initializer_list<int> keep);
// The same at exec, for this one and all above.
void close_on_exec_from(int first);

}  // namespace cloche::agent
