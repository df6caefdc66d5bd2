// RunTable: the runs of a session that are under way or ended not long ago, and the tasks that carry them out, whatever
// their work is.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/async/task_group.hpp"
#include "session/runs/run.hpp"

namespace cloche::session {

struct RunsOptions {
  std::size_t most_running = 32;
  // For runs that have ended: how many are kept, for how long, and their total size.
  std::size_t most_kept = 64;
  Deadline::Clock::duration kept_for = std::chrono::minutes(15);
  Bytes most_held = mib(16);
  // How long a foreground run that was followed may be without a reader: long enough to come back.
  Deadline::Clock::duration unread_timeout = std::chrono::seconds(30);
};

// The id of a run in the background, which is the same after a restart.
std::string background_run_id(std::uint64_t background_id);

class RunTable {
 public:
  // Reports its output as it arrives and its process while it has one, and returns its end.
  using Work = std::function<Task<RunEnd>(RunObserver)>;

  explicit RunTable(Session& session);
  // For tests; before the first run.
  void set_options(RunsOptions options) { options_ = options; }

  // A place among the running ones, for what is not in the table: a terminal, or a program that is being started.
  // `limit_reached` if too many are running, `sandbox_lost` if the session has ended.
  Result<SessionPlace> admit();
  // A foreground run; the same errors.
  Result<std::shared_ptr<Run>> start(const SessionUse& use, RunInfo info, auth::QuotaTicket ticket, Work work);

  // A run that has been admitted. Its work, or its end, follows.
  std::shared_ptr<Run> add(RunInfo info, auth::QuotaTicket ticket);
  // Does the work in a task that counts as a use of the session.
  void carry_out(const std::shared_ptr<Session>& session, const std::shared_ptr<Run>& run, Work work);
  // The end of a run without work.
  void finish(Run& run, RunEnd how);

  // `not_found` if it does not exist, or no longer exists.
  Result<std::shared_ptr<Run>> find(const std::string& id);
  // Oldest first.
  std::vector<std::shared_ptr<Run>> list();
  // Stops it if it runs, waits for its end and forgets it.
  Task<Status> remove(std::string id, Deadline deadline);

  void set_paused(bool paused);
  Task<> close();
  bool is_closed() const { return closed_; }
  bool busy() const { return running() > 0; }

 private:
  std::size_t running() const;
  Status check_room() const;
  // Forgets what has been kept for long enough.
  void purge();
  void forget(const std::shared_ptr<Run>& run);
  Task<> let_agent_forget(std::shared_ptr<LiveSandbox> sandbox, std::uint64_t background_id);
  Task<> work_to_end(std::shared_ptr<Run> run, Work work);

  Session& session_;
  RunsOptions options_;
  std::vector<std::shared_ptr<Run>> runs_;  // in the order in which they started
  std::shared_ptr<std::uint32_t> places_ = std::make_shared<std::uint32_t>(0);
  bool is_paused_ = false;
  bool closed_ = false;
  TaskGroup tasks_;
};

}  // namespace cloche::session
