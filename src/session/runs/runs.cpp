#include "session/runs/runs.hpp"

#include <algorithm>

#include "core/async/first_of.hpp"
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "session/runs/run_directory.hpp"

namespace cloche::session {

namespace {

constexpr std::size_t longest_shown_text = 200;
// More than anything that is started here is allowed to keep.
constexpr std::uint64_t most_background_output = mib(16).count;
constexpr std::chrono::seconds patience{30};
// Programs can make directories that look like ours; more than this are not ours.
constexpr std::size_t most_orphans = 256;

// Ids of programs in the background are the same after a restart.
std::string background_run_id(std::uint64_t id) { return "b" + std::to_string(id); }
std::string foreground_run_id() { return "r" + random_hex(8); }

// A waiting caller did not cancel the run: the run lost its sandbox.
Error session_ended() { return {ErrorCode::sandbox_lost, "the session was ended"}; }

Task<> work_to_end(Runs::Work work, RunListener listener, runner::ExecObserver watch, std::optional<RunEnd>& end) {
  fault_point<"run.begin">();
  auto how = co_await work(std::move(listener), std::move(watch));
  fault_point<"run.end">();
  end = std::move(how);
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
    if (line.size() > longest_shown_text) break;
    line += (line.empty() ? "" : " ") + word;
  }
  return line.substr(0, longest_shown_text);
}

}  // namespace

Runs::Runs(Session& session) : session_(session), recovery_ended_(session.executor()), tasks_(session.executor()) {}

std::size_t Runs::running() const {
  return starting_ + *terminals_ +
         static_cast<std::size_t>(std::ranges::count_if(runs_, [](const auto& run) { return run->running(); }));
}

bool Runs::busy() const { return running() > 0; }

Status Runs::check_room() const {
  if (closed_) return fail(ErrorCode::sandbox_lost, "the session has ended");
  if (running() < options_.most_running) return {};
  return fail(ErrorCode::limit_reached, "run limit reached: the session has " + std::to_string(options_.most_running) +
                                            " running programs, including terminals; wait until one ends");
}

Result<SessionPlace> Runs::admit_terminal() {
  CLOCHE_CHECK(check_room());
  return SessionPlace(terminals_);
}

void Runs::keep(const std::shared_ptr<Run>& run) {
  purge();
  run->info_.text.resize(std::min(run->info_.text.size(), longest_shown_text));
  runs_.push_back(run);
}

void Runs::purge() {
  const WallTime now = std::chrono::system_clock::now();
  std::size_t kept = 0;
  std::uint64_t held = 0;
  std::vector<std::shared_ptr<Run>> old;
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if ((*run)->running()) continue;
    ++kept;
    held += (*run)->log().weight();
    const bool is_old = now - (*run)->ended_.value_or(now) > options_.kept_for;
    if (is_old || kept > options_.most_kept || held > options_.most_held.count) old.push_back(*run);
  }
  for (const auto& run : old) forget(run);
}

void Runs::forget(const std::shared_ptr<Run>& run) {
  std::erase(runs_, run);
  if (run->background_id_ == 0 || closed_ || !session_.lease()) return;
  tasks_.spawn("forget a background exec", [this, sandbox = session_.lease().shared(), id = run->background_id_] {
    return let_agent_forget(sandbox, id);
  });
}

Task<> Runs::let_agent_forget(std::shared_ptr<LiveSandbox> sandbox, std::uint64_t background_id) {
  // From beyond its end: none of its output has to be sent again.
  constexpr std::uint64_t beyond = UINT64_MAX;
  auto exec = co_await sandbox->attach(background_id, LiveSandbox::AfterEnd::collect, beyond, beyond);
  if (!exec) co_return;
  auto ended = co_await (*exec)->next(Deadline::after(patience));
  if (!ended) log::debug("background exec {}: {}", background_id, ended.error().message);
}

void Runs::spawn(const std::shared_ptr<Session>& session, const std::shared_ptr<Run>& run, Work work) {
  // A run that cannot be started has ended: there is no waiter.
  try {
    fault_point<"run.spawn">();
    auto use = std::make_shared<SessionUse>(session);
    tasks_.spawn("run", [this, use, run, work = std::move(work)] { return carry_out(run, work); });
  } catch (...) {
    run->finish(to_error("run " + run->id(), std::current_exception()));
  }
}

Result<std::shared_ptr<Run>> Runs::start(const SessionUse& use, RunInfo info, auth::QuotaTicket ticket, Work work) {
  CLOCHE_CHECK(check_room());
  auto run = std::make_shared<Run>(session_.executor(), foreground_run_id(), std::move(info), std::move(ticket));
  keep(run);
  spawn(use.shared(), run, std::move(work));
  return run;
}

Task<> Runs::carry_out(std::shared_ptr<Run> run, Work work) {
  // However the task ends, the run does not look as if it went on for ever.
  struct Ended {
    std::shared_ptr<Run> run;
    ~Ended() { run->finish(session_ended()); }
  } const ended{run};
  RunListener listener = [run](const RunOutput& output) { run->add(output); };
  runner::ExecObserver watch = [run](Exec* exec) { run->set_exec(exec); };
  std::optional<RunEnd> end;
  auto race = [&]() -> Task<Status> {
    co_await first_of(work_to_end(std::move(work), std::move(listener), std::move(watch), end),
                      run->until_called_off(options_.unread_patience));
    co_return Status{};
  };
  auto raced = co_await guarded("run " + run->id(), std::move(race));
  // One that had come to its end when it was called off has ended by itself.
  if (!end && !raced) end = std::move(raced).error();
  if (!end) end = *run->called_off_;
  // Its context was closed with the session: its caller did not cancel it.
  const auto* error = std::get_if<Error>(&*end);
  const bool was_stopped = run->called_off_ && run->called_off_->code == ErrorCode::cancelled;
  if (error != nullptr && error->code == ErrorCode::cancelled && !was_stopped &&
      session_.state() == SessionState::ending) {
    end = session_ended();
  }
  finish(*run, std::move(*end));
}

void Runs::finish(Run& run, RunEnd how) {
  if (const RunResult* result = result_in(how)) {
    session_.count({run.info().language, result->category, result->cause, result->outcome.wall});
  }
  run.finish(std::move(how));
}

Task<Result<std::shared_ptr<Run>>> Runs::start_background(const SessionUse& use, RunInfo info, auth::QuotaTicket ticket,
                                                          const LanguageRegistry& languages, RunRequest request,
                                                          Deadline deadline) {
  CLOCHE_CO_CHECK(check_room());
  CLOCHE_CO_CHECK(fallible_point<"run.start_background">());
  struct Starting {
    explicit Starting(std::size_t& c) : count(c) { ++count; }
    ~Starting() { --count; }
    std::size_t& count;
  } const starting(starting_);
  auto started = co_await start_in_background(session_, languages, std::move(request), deadline);
  if (!started) co_return fail(std::move(started).error());
  if (closed_) co_return fail(ErrorCode::sandbox_lost, "the session has ended");
  auto* program = std::get_if<BackgroundRun>(&*started);
  std::string id = program == nullptr ? foreground_run_id() : background_run_id(program->id);
  auto run = std::make_shared<Run>(session_.executor(), std::move(id), std::move(info), std::move(ticket));
  keep(run);
  if (program == nullptr) {
    finish(*run, std::move(std::get<RunResult>(*started)));
  } else {
    spawn(use.shared(), run, following(run, std::move(*program)));
  }
  co_return run;
}

Runs::Work Runs::following(const std::shared_ptr<Run>& run, BackgroundRun program) {
  run->background_id_ = program.id;
  auto shared = std::make_shared<BackgroundRun>(std::move(program));
  return [this, run, shared](const RunListener&, const runner::ExecObserver&) {
    return follow_to_end(run, std::move(*shared));
  };
}

Task<RunEnd> Runs::follow_to_end(std::shared_ptr<Run> run, BackgroundRun program) {
  const auto sandbox = session_.lease().shared();
  fault_point<"run.follow">();
  auto attached = co_await sandbox->attach(program.id, LiveSandbox::AfterEnd::keep);
  if (!attached) co_return RunEnd(std::move(attached).error());
  const auto exec = std::move(*attached);
  const runner::ExecObserver watch = [run](Exec* one) { run->set_exec(one); };
  const runner::ExecObserverScope watched(watch, *exec);
  std::uint64_t received = 0;
  for (;;) {
    auto event = co_await exec->next();
    if (!event) co_return RunEnd(std::move(event).error());
    if (auto* output = std::get_if<ExecOutput>(&*event)) {
      received += output->bytes.size();
      if (received > 2 * most_background_output) {
        co_return RunEnd(Error{ErrorCode::protocol, "the sandbox's agent sent more output than requested"});
      }
      const bool is_out = output->source == ExecOutput::Source::out;
      run->add({is_out ? RunOutput::Source::out : RunOutput::Source::err, std::move(output->bytes)});
      continue;
    }
    Exec::Collected ended;
    ended.outcome = std::get<Outcome>(*event);
    run->set_exec(nullptr);
    const Deadline by = Deadline::after(2 * patience);
    auto result = co_await conclude_background(session_, std::move(program), std::move(ended), by);
    co_return RunEnd(std::move(result));
  }
}

Task<Status> Runs::recover(std::shared_ptr<Session> session, Deadline deadline) {
  while (recovering_ && !deadline.passed()) co_await recovery_ended_.wait(deadline);
  if (recovering_) co_return fail(ErrorCode::timeout, "the session's earlier runs were not found in time");
  if (closed_) co_return fail(ErrorCode::sandbox_lost, "the session has ended");
  if (recovered_) co_return Status{};
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
  recovered_ = true;
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
    // An earlier call may have been cut off in the middle.
    if (find(background_run_id(entry.id))) continue;
    RunInfo info;
    info.text = joined(entry.argv);
    info.lifetime = Lifetime::background;
    auth::QuotaTicket ticket;
    if (entry.running) {
      CLOCHE_CO_TRY(ticket, session_.adopt(auth::Quota::runs));
    }
    auto run =
        std::make_shared<Run>(session_.executor(), background_run_id(entry.id), std::move(info), std::move(ticket));
    run->started_ -= entry.age;
    runs_.push_back(run);
    const auto counted = entry.running ? std::make_shared<RecoveredRunning>(recovered_running_) : nullptr;
    BackgroundRun program;
    program.id = entry.id;
    Work follow = following(run, std::move(program));
    Work work = [this, follow, counted](RunListener listener, runner::ExecObserver watch) -> Task<RunEnd> {
      auto end = co_await follow(std::move(listener), std::move(watch));
      if (counted && counted->leave() == 0) co_await remove_orphans();
      co_return end;
    };
    spawn(session, run, std::move(work));
  }
  co_return Status{};
}

Task<> Runs::remove_orphans() {
  fault_point<"run.recover.remove">();
  const auto sandbox = session_.lease().shared();
  auto files = sandbox->files();
  for (const std::string& directory : std::exchange(orphan_directories_, {})) {
    FilePath place(directory);
    const Deadline by = Deadline::after(patience);
    auto removed = co_await files.remove(std::move(place), Recursion::whole_tree, Missing::fine, by);
    if (!removed) log::warn("sandbox {}: {}", sandbox->id().value, removed.error().message);
  }
}

Result<std::shared_ptr<Run>> Runs::find(const std::string& id) {
  purge();
  const auto found = std::ranges::find_if(runs_, [&](const auto& run) { return run->id() == id; });
  if (found == runs_.end()) return fail(ErrorCode::not_found, "no run '" + id + "' in this session");
  return *found;
}

std::vector<std::shared_ptr<Run>> Runs::list() {
  purge();
  return runs_;
}

Task<Status> Runs::remove(std::string id, Deadline deadline) {
  CLOCHE_CO_TRY(const auto run, find(id));
  run->stop("the run was stopped");
  const bool ended = co_await run->wait(deadline);
  if (!ended) co_return fail(ErrorCode::timeout, "the run did not end in time");
  if (std::ranges::find(runs_, run) != runs_.end()) forget(run);
  co_return Status{};
}

Task<> Runs::close() {
  closed_ = true;
  for (const auto& run : runs_) {
    run->called_off_ = session_ended();
    run->steered_.notify();
  }
  co_await tasks_.join();
}

}  // namespace cloche::session
