// Runs: what is run in a session: code, shell lines and calls in its contexts, in the foreground or in the background.
// Programs in the background are found again after this process was restarted.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "session/runs/run_table.hpp"

namespace cloche::session {

// A foreground run, and what belongs to it.
struct RunStart {
  RunCall call;
  auth::QuotaTicket ticket;
  Unattended unattended = Unattended::goes_on;
  std::function<void()> on_process;  // called when its process has started and the call is not needed any more
};

// Whether a session may have runs that this process did not start.
enum class EarlierRuns { none, to_be_found };

class Runs final : public SessionPart {
 public:
  explicit Runs(Session& session);
  Runs(Session& session, EarlierRuns earlier);
  // For tests; before the first run.
  void set_options(RunsOptions options) { table_.set_options(options); }

  // Those of a session, when the runs of an earlier process are known: only then all that runs is counted.
  static Task<Result<Runs*>> of(const SessionUse& use);
  // Finds programs in the background that an earlier process started. Only the first call does something, and only in a
  // session that this process did not make. What runs counts as a use of the session, here and below.
  Task<Status> recover(std::shared_ptr<Session> session, Deadline deadline);

  // Both: `limit_reached` if too many are running, `sandbox_lost` if the session has ended. The languages outlive the
  // session.
  Result<std::shared_ptr<Run>> start(const SessionUse& use, const LanguageRegistry& languages, RunStart wanted);
  // Compiles first, and returns when the program has started; a caller that is cancelled before that leaves nothing
  // behind. Where compiling fails, the run has ended already.
  Task<Result<std::shared_ptr<Run>>> start_background(const SessionUse& use, const LanguageRegistry& languages,
                                                      RunRequest request, auth::QuotaTicket ticket, Deadline deadline);

  // A program on a terminal counts among the runs for as long as it has this place.
  Result<SessionPlace> admit_terminal() { return table_.admit(); }

  // See RunTable.
  Result<std::shared_ptr<Run>> find(const std::string& id) { return table_.find(id); }
  std::vector<std::shared_ptr<Run>> list() { return table_.list(); }
  Task<Status> remove(std::string id, Deadline deadline) { return table_.remove(std::move(id), deadline); }

  Task<> close() override { return table_.close(); }
  bool busy() const override { return table_.busy(); }
  void set_paused(bool paused) override { table_.set_paused(paused); }

 private:
  Task<RunEnd> run(const LanguageRegistry& languages, RunCall call, RunObserver observer);
  Task<RunEnd> follow(BackgroundRun program, RunObserver observer);
  Task<Status> find_orphans(std::shared_ptr<Session> session, Deadline deadline);
  Task<> remove_orphans();

  Session& session_;
  EarlierRuns earlier_;
  bool recovering_ = false;
  Event recovery_ended_;
  // Files of runs of an earlier process. Some may belong to programs that are still running, so all stay until those
  // have ended.
  std::vector<std::string> orphan_directories_;
  std::uint32_t recovered_running_ = 0;
  RunTable table_;  // its tasks use the members above
};

}  // namespace cloche::session
