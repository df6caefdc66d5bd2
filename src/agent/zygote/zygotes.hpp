// Zygotes: Python interpreters with imported modules that fork a fresh process for each run.
//
// A zygote runs under the agent's uid and never reads a byte of a run: it is handed descriptors, forks, and the child
// drops to the user before it reads what to do. So nothing of one run is in the memory that the next one starts from.
//
// A fork takes longer than a short run. So each zygote keeps a spare: a fork that waits for its run, under the agent's
// uid and without a byte of any run. It is used once. A run that finds none is given to a fork that is still on its
// way.
//
// A reset spares the zygotes and nothing that was forked from them. That a zygote is still what it was is proved by
// evidence that was taken when it was ready; one that is not is ended.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/exec/process_evidence.hpp"
#include "agent/exec/supervised.hpp"
#include "agent/link/loop.hpp"
#include "agent/link/server_link.hpp"

namespace cloche::agent {

class Zygotes {
 public:
  Zygotes(Loop& loop, std::string agent_path);

  // Opens a stream that closes when the zygote is ready, or says why it is not.
  Result<std::unique_ptr<Stream>> open_start(ServerLink& link, wire::StreamId id, const wire::ZygoteRequest& request);

  // A run: argv[0] is the script, the rest its arguments. The supervisor is the zygote's child.
  Result<std::unique_ptr<Supervised>> fork(const wire::ExecRequest& request, const ProgramFds& fds,
                                           SupervisedEvents events);

  // Waits until every requested fork exists, so that none appears later, and discards the spares. Returns the names of
  // the zygotes that do not respond. Blocks, but not for long.
  std::vector<std::string> settle();

  // The zygotes' own, which a reset spares.
  std::set<pid_t> pids() const;
  // Once all has settled: what is not as it was when the zygotes were ready. Ends the zygotes that it is said of.
  std::vector<std::string> prove();
  // Asks for a spare of each zygote that has none.
  void replace_spares();
  // A child of the agent ended; if it was a zygote, its name can no longer be forked from.
  void on_child_ended(pid_t pid);

 private:
  // A run that has not got its program yet, and its supervisor, which waits for the limits.
  struct Spare {
    UniqueFd run;
    UniqueFd supervisor;
  };
  struct Zygote {
    pid_t pid = -1;
    UniqueFd control;
    bool ready = false;
    std::uint64_t on_their_way = 0;  // forks asked for and not yet known to be there
    Loop::FdWatcher answers;
    std::optional<Spare> spare;
    ProcessEvidence evidence;  // of when it was ready
  };
  class StartStream;

  static Result<Spare> ask_for_spare(Zygote& zygote);
  static void replace_spare(Zygote& zygote);
  void on_answer(const std::string& name);

  Loop& loop_;
  std::string agent_path_;
  std::map<std::string, Zygote> zygotes_;
  Loop::Clock::time_point last_end_;  // of a run
  Loop::Timer next_fork_;
};

}  // namespace cloche::agent
