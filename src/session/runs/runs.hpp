// Runs: the runs of a session that are under way or ended not long ago. Programs in the background are found again
// after this process was restarted.
#pragma once

#include <map>
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
  Deadline::Clock::duration unread_patience = std::chrono::seconds(30);
};

class Runs final : public SessionPart {
 public:
  // The work of a foreground run: reports its output as it arrives and its process while it has one, and returns its
  // end.
  using Work = std::function<Task<RunEnd>(RunListener, runner::ExecObserver)>;

  explicit Runs(Session& session);
  // For tests; before the first run.
  void set_options(RunsOptions options) { options_ = options; }

  // Finds programs in the background that an earlier process started. To be awaited before anything else is asked; only
  // the first call does something. What runs counts as a use of the session, here and below.
  Task<Status> recover(std::shared_ptr<Session> session, Deadline deadline);

  // Both: `limit_reached` if too many are running, `sandbox_lost` if the session has ended.
  Result<std::shared_ptr<Run>> start(const SessionUse& use, RunInfo info, auth::QuotaTicket ticket, Work work);
  // Compiles first, and returns when the program has started; a caller that is cancelled before that leaves nothing
  // behind. Where compiling fails, the run has ended already.
  Task<Result<std::shared_ptr<Run>>> start_background(const SessionUse& use, RunInfo info, auth::QuotaTicket ticket,
                                                      const LanguageRegistry& languages, RunRequest request,
                                                      Deadline deadline);

  // A program on a terminal counts among the runs for as long as it has this place.
  Result<SessionPlace> admit_terminal();

  // `not_found` if it does not exist, or no longer exists.
  Result<std::shared_ptr<Run>> find(const std::string& id);
  // Oldest first.
  std::vector<std::shared_ptr<Run>> list();
  // Stops it if it runs, waits for its end and forgets it.
  Task<Status> remove(std::string id, Deadline deadline);

  Task<> close() override;
  bool busy() const override;

 private:
  Status check_room() const;
  std::size_t running() const;
  void keep(const std::shared_ptr<Run>& run);
  // Forgets what has been kept for long enough.
  void purge();
  void forget(const std::shared_ptr<Run>& run);
  void spawn(const std::shared_ptr<Session>& session, const std::shared_ptr<Run>& run, Work work);
  void finish(Run& run, RunEnd how);
  Task<> carry_out(std::shared_ptr<Run> run, Work work);
  Work following(const std::shared_ptr<Run>& run, BackgroundRun program);
  Task<RunEnd> follow_to_end(std::shared_ptr<Run> run, BackgroundRun program);
  Task<> let_agent_forget(std::shared_ptr<LiveSandbox> sandbox, std::uint64_t background_id);
  Task<Status> find_orphans(std::shared_ptr<Session> session, Deadline deadline);
  Task<> remove_orphans();

  Session& session_;
  RunsOptions options_;
  std::vector<std::shared_ptr<Run>> runs_;  // in the order in which they started
  bool recovered_ = false;
  bool recovering_ = false;
  Event recovery_ended_;
  bool closed_ = false;
  std::size_t starting_ = 0;  // in the background
  std::shared_ptr<std::uint32_t> terminals_ = std::make_shared<std::uint32_t>(0);
  // Files of runs of an earlier process. Some may belong to programs that are still running, so all stay until those
  // have ended.
  std::vector<std::string> orphan_directories_;
  std::uint32_t recovered_running_ = 0;
  TaskGroup tasks_;
};

}  // namespace cloche::session
