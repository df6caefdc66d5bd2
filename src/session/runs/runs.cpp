#include "session/runs/runs.hpp"

#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "session/contexts.hpp"
#include "session/runs/run_directory.hpp"

namespace cloche::session {

namespace {

// More than anything that is started here is allowed to keep.
constexpr Bytes most_background_output = mib(16);
constexpr std::chrono::seconds recovery_timeout{30};
constexpr std::chrono::seconds removal_timeout{30};
constexpr std::chrono::seconds conclusion_timeout{60};
// Programs can make directories that look like ours; more than this are not ours.
constexpr std::size_t most_orphans = 256;

RunInfo info_of(const RunRequest& request) {
  RunInfo info;
  if (const auto* code = std::get_if<Code>(&request.what)) {
    info.language = code->language;
    info.text = code->text.substr(0, RunInfo::longest_text);
  } else {
    info.language = "bash";
    info.text = std::get<ShellLine>(request.what).line.substr(0, RunInfo::longest_text);
  }
  return info;
}

RunInfo info_of(const ContextCall& call) {
  RunInfo info;
  info.language = call.language;
  info.context = call.context;
  info.text = call.code.substr(0, RunInfo::longest_text);
  return info;
}

template <class Ran>
RunEnd end_of(Result<Ran> ran) {
  if (!ran) return std::move(ran).error();
  return std::move(*ran);
}

// One of the programs of an earlier process that still run, until it ends or is not followed any more.
class RecoveredRunning {
 public:
  explicit RecoveredRunning(std::uint32_t& count) : count_(count) { ++count_; }
  RecoveredRunning(const RecoveredRunning&) = delete;
  RecoveredRunning& operator=(const RecoveredRunning&) = delete;
  ~RecoveredRunning() { leave(); }
  // How many are left.
  std::uint32_t leave() {
    if (std::exchange(is_counted_, false)) --count_;
    return count_;
  }

 private:
  std::uint32_t& count_;
  bool is_counted_ = true;
};

std::string joined(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    if (line.size() > RunInfo::longest_text) break;
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

}  // namespace

Runs::Runs(Session& session) : Runs(session, session.is_recovered() ? EarlierRuns::to_be_found : EarlierRuns::none) {}

Runs::Runs(Session& session, EarlierRuns earlier)
    : session_(session), earlier_(earlier), recovery_ended_(session.executor()), table_(session) {}

Result<std::shared_ptr<Run>> Runs::start(const SessionUse& use, const LanguageRegistry& languages, RunStart wanted) {
  RunInfo info = std::visit([](const auto& call) { return info_of(call); }, wanted.call);
  info.unattended = wanted.unattended;
  auto call = std::make_shared<RunCall>(std::move(wanted.call));
  RunTable::Work work = [this, &languages, call, on_process = std::move(wanted.on_process)](RunObserver observer) {
    if (on_process) {
      observer.exec = [tell = std::move(observer.exec), on_process](Exec* exec) {
        on_process();
        tell(exec);
      };
    }
    return run(languages, std::move(*call), std::move(observer));
  };
  return table_.start(use, std::move(info), std::move(wanted.ticket), std::move(work));
}

Task<RunEnd> Runs::run(const LanguageRegistry& languages, RunCall call, RunObserver observer) {
  // Limits of time are the call's own.
  if (auto* in_context = std::get_if<ContextCall>(&call)) {
    Contexts& contexts = session_.part<Contexts>();
    auto ran = co_await contexts.run(std::move(*in_context), std::move(observer.output), Deadline::never());
    co_return end_of(std::move(ran));
  }
  RunRequest request = std::get<RunRequest>(std::move(call));
  auto ran = co_await run_in_session(session_, languages, std::move(request), std::move(observer), Deadline::never());
  co_return end_of(std::move(ran));
}

Task<Result<std::shared_ptr<Run>>> Runs::start_background(const SessionUse& use, const LanguageRegistry& languages,
                                                          RunRequest request, auth::QuotaTicket ticket,
                                                          Deadline deadline) {
  CLOCHE_CO_TRY(const SessionPlace place, table_.admit());
  CLOCHE_CO_CHECK(fallible_point<"run.start_background">());
  RunInfo info = info_of(request);
  info.lifetime = Lifetime::background;
  auto started = co_await start_in_background(session_, languages, std::move(request), deadline);
  if (!started) co_return fail(std::move(started).error());
  if (table_.is_closed()) co_return fail(ErrorCode::sandbox_lost, "the session has ended");
  info.started = std::chrono::system_clock::now();
  if (auto* result = std::get_if<RunResult>(&*started)) {
    auto run = table_.add(std::move(info), std::move(ticket));
    table_.finish(*run, std::move(*result));
    co_return run;
  }
  auto program = std::make_shared<BackgroundRun>(std::move(std::get<BackgroundRun>(*started)));
  info.background_id = program->id;
  auto run = table_.add(std::move(info), std::move(ticket));
  table_.carry_out(use.shared(), run,
                   [this, program](RunObserver observer) { return follow(std::move(*program), std::move(observer)); });
  co_return run;
}

Task<RunEnd> Runs::follow(BackgroundRun program, RunObserver observer) {
  const auto sandbox = session_.lease().shared();
  fault_point<"run.follow">();
  Outcome outcome;
  {
    constexpr std::uint64_t beginning = 0;
    auto attached =
        co_await sandbox->attach(program.id, LiveSandbox::AfterEnd::keep, beginning, beginning, most_background_output);
    if (!attached) co_return RunEnd(std::move(attached).error());
    const auto exec = std::move(*attached);
    const runner::ExecObserverScope watched(observer.exec, *exec);
    auto ended = co_await exec->read(std::move(observer.output));
    if (!ended) co_return RunEnd(std::move(ended).error());
    outcome = std::move(*ended);
  }
  const Deadline by = Deadline::after(conclusion_timeout);
  auto result = co_await conclude_background(session_, std::move(program), std::move(outcome), by);
  co_return RunEnd(std::move(result));
}

Task<Result<Runs*>> Runs::of(const SessionUse& use) {
  auto& runs = use->part<Runs>();
  auto recovered = co_await runs.recover(use.shared(), Deadline::after(recovery_timeout));
  if (!recovered) co_return fail(std::move(recovered).error());
  co_return &runs;
}

Task<Status> Runs::recover(std::shared_ptr<Session> session, Deadline deadline) {
  while (recovering_ && !deadline.passed()) co_await recovery_ended_.wait(deadline);
  if (recovering_) co_return fail(ErrorCode::timeout, "the session's earlier runs were not found in time");
  if (table_.is_closed()) co_return fail(ErrorCode::sandbox_lost, "the session has ended");
  if (earlier_ == EarlierRuns::none) co_return Status{};
  struct Turn {
    explicit Turn(Runs& r) : runs(r) { runs.recovering_ = true; }
    ~Turn() {
      runs.recovering_ = false;
      runs.recovery_ended_.notify();
    }
    Runs& runs;
  } const turn(*this);
  auto found = co_await find_orphans(std::move(session), deadline);
  if (!found) co_return fail(std::move(found).error().at("find the session's earlier runs"));
  // All are known now, also if this call does not live to see the rest.
  earlier_ = EarlierRuns::none;
  if (recovered_running_ == 0) co_await remove_orphans();
  co_return Status{};
}

Task<Status> Runs::find_orphans(std::shared_ptr<Session> session, Deadline deadline) {
  const auto sandbox = session_.lease().shared();
  CLOCHE_CO_CHECK(fallible_point<"run.recover">());
  auto background = co_await sandbox->list_background(deadline);
  if (!background) co_return fail(std::move(background).error());
  auto files = sandbox->files();
  FilePath parent{std::string(run_directories_parent)};
  auto list = co_await files.list(std::move(parent), Recursion::none, deadline);
  if (!list) co_return fail(std::move(list).error());
  orphan_directories_.clear();
  for (const FileEntry& entry : list->entries) {
    if (entry.type != FileType::directory || !is_run_directory(entry.path)) continue;
    if (orphan_directories_.size() == most_orphans) break;
    orphan_directories_.push_back(std::string(run_directories_parent) + "/" + entry.path);
  }
  for (const BackgroundEntry& entry : *background) {
    if (!entry.label.empty()) continue;  // it belongs to another part of the session
    // An earlier call may have been cut off in the middle.
    if (find(background_run_id(entry.id))) continue;
    RunInfo info;
    info.text = joined(entry.argv);
    info.lifetime = Lifetime::background;
    info.background_id = entry.id;
    info.started -= entry.age;
    auth::QuotaTicket ticket;
    if (entry.running) {
      CLOCHE_CO_TRY(ticket, session_.adopt(auth::Quota::runs));
    }
    const auto run = table_.add(std::move(info), std::move(ticket));
    const auto counted = entry.running ? std::make_shared<RecoveredRunning>(recovered_running_) : nullptr;
    table_.carry_out(session, run, [this, id = entry.id, counted](RunObserver observer) -> Task<RunEnd> {
      BackgroundRun program;
      program.id = id;
      auto end = co_await follow(std::move(program), std::move(observer));
      if (counted && counted->leave() == 0) co_await remove_orphans();
      co_return end;
    });
  }
  co_return Status{};
}

Task<> Runs::remove_orphans() {
  fault_point<"run.recover.remove">();
  const auto sandbox = session_.lease().shared();
  auto files = sandbox->files();
  for (const std::string& directory : std::exchange(orphan_directories_, {})) {
    FilePath place(directory);
    const Deadline by = Deadline::after(removal_timeout);
    auto removed = co_await files.remove(std::move(place), Recursion::whole_tree, Missing::fine, by);
    if (!removed) log::warn("sandbox {}: {}", sandbox->id().value, removed.error().message);
  }
}

}  // namespace cloche::session
