// Commands of `sudo`, in the supervisor of the program that they belong to. The supervisor forks them, so they are part
// of the program's tree: they count in its limits and end with it.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "core/unique_fd.hpp"
#include "wire/exec_messages.hpp"

namespace cloche::agent {

// Agent to supervisor, behind a command to start one: what the kernel shall hold it to. The connection to `sudo` comes
// with it as a descriptor.
struct ElevationOrder {
  static constexpr std::size_t most_limits = 16;  // as many as the kernel has

  struct Limit {
    std::uint32_t resource = 0;
    std::uint64_t soft = 0;
    std::uint64_t hard = 0;
  };

  std::uint32_t count = 0;
  gid_t mark = 0;
  Limit limits[most_limits];

  static ElevationOrder of(const std::vector<wire::Rlimit>& rlimits, gid_t mark);
};

class ElevatedCommands {
 public:
  // Forks the command. What the client asks for is read by the child, so a client that is slow delays nothing else.
  void start(UniqueFd connection, const ElevationOrder& order);
  // A child has ended: its client is told, if it has one.
  void on_ended(pid_t pid, int status);

  void add_to(std::vector<pollfd>& polled) const;
  // Passes on signals. `polled` is what add_to() added, after a poll().
  void take(const pollfd* polled);

 private:
  static constexpr std::size_t most = 64;

  struct Command {
    pid_t pid = -1;
    UniqueFd connection;
    UniqueFd starting;  // until it ends, the child reads from the connection
  };
  static void pass_signals(Command& command);

  std::vector<Command> commands_;
};

}  // namespace cloche::agent
