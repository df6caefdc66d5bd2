// Processes: the programs of a session that clients started by process.Process. They run in the sandbox's background,
// so that they survive a restart of the server and are found again.
#pragma once

#include <memory>
#include <vector>

#include "core/async/task_group.hpp"
#include "dialect/e2b/envd/program.hpp"
#include "sandbox/users.hpp"

namespace cloche::dialect::e2b {

// How a program is to be started.
struct ProgramStart {
  StartRequest request;
  SandboxUser user;
  std::optional<std::chrono::milliseconds> wall_limit;
};

class Processes final : public session::SessionPart {
 public:
  // Whether the session may have programs that this process did not start.
  enum class Earlier { none, to_be_found };

  explicit Processes(session::Session& session);
  Processes(session::Session& session, Earlier earlier);

  // Those of a session, when the ones that an earlier process started are known.
  static Task<Result<Processes*>> of(const session::SessionUse& use);
  // Finds programs that an earlier process started. Only the first call does something.
  Task<Status> recover(Deadline deadline);

  // Starts a program; the follower gets all of its output. invalid_argument if it cannot be started,
  // resource_exhausted if too many run. A caller that is cancelled meanwhile leaves the program running.
  Task<connect::Reply<std::unique_ptr<Follower>>> start(const session::SessionUse& use, ProgramStart wanted);

  // Also one that has ended, for 30 s. The one that was started last if several have the tag.
  connect::Reply<std::shared_ptr<Program>> find(const ProcessSelector& selector);
  // Those that run, in the order in which they were started.
  std::vector<std::shared_ptr<Program>> running() const;

  Task<> close() override;
  bool busy() const override;

 private:
  Task<connect::Reply<std::unique_ptr<Follower>>> start_program(const session::SessionUse& use, ProgramStart wanted);
  Task<Status> find_earlier(Deadline deadline);
  void add(const std::shared_ptr<Program>& program, std::uint64_t background_id);
  Task<> follow(std::shared_ptr<Program> program, std::shared_ptr<LiveSandbox> sandbox, std::uint64_t background_id);
  // Forgets what has ended long enough ago.
  void purge();

  session::Session& session_;
  std::vector<std::shared_ptr<Program>> programs_;  // in the order in which they were started
  Earlier earlier_;
  Gate search_;  // for earlier ones: one at a time
  bool is_closed_ = false;
  TaskGroup tasks_;
};

}  // namespace cloche::dialect::e2b
