// The parameters of a program start, and the start itself, in the child that becomes the program.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "wire/exec_messages.hpp"

namespace cloche::agent {

// Descriptors the program gets; the caller's own copies stay its own. And the mark of its tree.
struct ProgramFds {
  int in = -1;
  int out = -1;
  int err = -1;
  bool is_terminal = false;  // in, out and err are one pty, which becomes the controlling terminal
  int event = -1;            // becomes event_fd, where the request asks for events
  gid_t mark = 0;            // its only supplementary group, by which its orphans are known; zero: none
};

// The number of the program's event descriptor, and the variable that contains it. zygote.py knows the number, too.
constexpr int event_fd = 3;
constexpr const char* event_fd_variable = "CLOCHE_EVENT_FD";

// Runs in a freshly forked child and becomes the program. When that fails, writes a LaunchFailure to `report` (a
// close-on-exec pipe) and exits.
[[noreturn]] void become_program(const wire::ExecRequest& request, const ProgramFds& fds, int report);

// Steps of it. They change the calling process, which is about to execute another program.
// The kernel's out-of-memory killer takes the program before the agent.
void offer_to_oom_killer();
// These become 0, 1 and 2; all others end at exec.
bool give_descriptors(int in, int out, int err);
// Like execvpe, with the PATH of `env`; returns the most specific error of all attempts.
int exec_searching(const std::string& name, const std::vector<std::string>& argv, const std::vector<std::string>& env);

struct LaunchFailure {
  int error = 0;
  char step[60] = {};
};

}  // namespace cloche::agent
