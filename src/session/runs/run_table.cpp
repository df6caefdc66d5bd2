#include "session/runs/run_table.hpp"

#include <algorithm>

#include "core/async/first_of.hpp"
#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"

namespace cloche::session {

namespace {

constexpr std::chrono::seconds forget_timeout{30};

// A waiting caller did not cancel the run: the run lost its sandbox.
Error session_ended() { return {ErrorCode::sandbox_lost, "the session was ended"}; }

Task<> do_work(RunTable::Work work, RunObserver observer, std::optional<RunEnd>& end) {
  fault_point<"run.begin">();
  auto how = co_await work(std::move(observer));
  fault_point<"run.end">();
  end = std::move(how);
}

}  // namespace

std::string background_run_id(std::uint64_t background_id) { return "b" + std::to_string(background_id); }

RunTable::RunTable(Session& session) : session_(session), tasks_(session.executor()) {}

std::size_t RunTable::running() const {
  return *places_ +
         static_cast<std::size_t>(std::ranges::count_if(runs_, [](const auto& run) { return run->running(); }));
}

Status RunTable::check_room() const {
  if (closed_) return fail(ErrorCode::sandbox_lost, "the session has ended");
  if (running() < options_.most_running) return {};
  return fail(ErrorCode::limit_reached, "run limit reached: the session has " + std::to_string(options_.most_running) +
                                            " running programs, including terminals; wait until one ends");
}

Result<SessionPlace> RunTable::admit() {
  CLOCHE_CHECK(check_room());
  return SessionPlace(places_);
}

std::shared_ptr<Run> RunTable::add(RunInfo info, auth::QuotaTicket ticket) {
  purge();
  info.text.resize(std::min(info.text.size(), RunInfo::longest_text));
  std::string id = info.background_id != 0 ? background_run_id(info.background_id) : "r" + random_hex(8);
  auto run = std::make_shared<Run>(session_.executor(), std::move(id), std::move(info), std::move(ticket));
  run->set_paused(is_paused_);
  return runs_.emplace_back(std::move(run));
}

Result<std::shared_ptr<Run>> RunTable::start(const SessionUse& use, RunInfo info, auth::QuotaTicket ticket, Work work) {
  CLOCHE_CHECK(check_room());
  auto run = add(std::move(info), std::move(ticket));
  carry_out(use.shared(), run, std::move(work));
  return run;
}

void RunTable::carry_out(const std::shared_ptr<Session>& session, const std::shared_ptr<Run>& run, Work work) {
  // A run that cannot be started has ended: there is no waiter.
  try {
    fault_point<"run.spawn">();
    auto use = std::make_shared<SessionUse>(session);
    tasks_.spawn("run", [this, use, run, work = std::move(work)] { return work_to_end(run, work); });
  } catch (...) {
    run->finish(to_error("run " + run->id(), std::current_exception()));
  }
}

Task<> RunTable::work_to_end(std::shared_ptr<Run> run, Work work) {
  // However the task ends, the run does not look as if it were still running.
  struct Ended {
    std::shared_ptr<Run> run;
    ~Ended() { run->finish(session_ended()); }
  } const ended{run};
  RunObserver observer;
  observer.output = [run](const Output& output) { run->add(output); };
  observer.exec = [run](Exec* exec) { run->set_exec(exec); };
  std::optional<RunEnd> end;
  auto race = [&]() -> Task<Status> {
    co_await first_of(do_work(std::move(work), std::move(observer), end),
                      run->until_called_off(options_.unread_timeout));
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

void RunTable::finish(Run& run, RunEnd how) {
  if (const RunResult* result = result_in(how)) {
    session_.count({run.info().language, result->category, result->cause, result->outcome.wall});
  }
  run.finish(std::move(how));
}

void RunTable::purge() {
  const WallTime now = std::chrono::system_clock::now();
  std::size_t kept = 0;
  std::uint64_t held = 0;
  std::vector<std::shared_ptr<Run>> old;
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if ((*run)->running()) continue;
    ++kept;
    held += (*run)->log().weight();
    const bool is_old = now - (*run)->ended().value_or(now) > options_.kept_for;
    if (is_old || kept > options_.most_kept || held > options_.most_held.count) old.push_back(*run);
  }
  for (const auto& run : old) forget(run);
}

void RunTable::forget(const std::shared_ptr<Run>& run) {
  std::erase(runs_, run);
  const std::uint64_t id = run->info().background_id;
  if (id == 0 || closed_ || !session_.lease()) return;
  tasks_.spawn("forget a background exec",
               [this, sandbox = session_.lease().shared(), id] { return let_agent_forget(sandbox, id); });
}

Task<> RunTable::let_agent_forget(std::shared_ptr<LiveSandbox> sandbox, std::uint64_t background_id) {
  // From beyond its end: none of its output has to be sent again.
  constexpr std::uint64_t beyond = UINT64_MAX;
  auto exec = co_await sandbox->attach(background_id, LiveSandbox::AfterEnd::collect, beyond, beyond);
  if (!exec) co_return;
  auto ended = co_await (*exec)->next(Deadline::after(forget_timeout));
  if (!ended) log::debug("background exec {}: {}", background_id, ended.error().message);
}

Result<std::shared_ptr<Run>> RunTable::find(const std::string& id) {
  purge();
  const auto found = std::ranges::find_if(runs_, [&](const auto& run) { return run->id() == id; });
  if (found == runs_.end()) return fail(ErrorCode::not_found, "no run '" + id + "' in this session");
  return *found;
}

std::vector<std::shared_ptr<Run>> RunTable::list() {
  purge();
  return runs_;
}

Task<Status> RunTable::remove(std::string id, Deadline deadline) {
  CLOCHE_CO_TRY(const auto run, find(id));
  run->stop("the run was stopped");
  const bool ended = co_await run->wait(deadline);
  if (!ended && run->is_paused()) co_return fail(Session::paused_error(session_.key()));
  if (!ended) co_return fail(ErrorCode::timeout, "the run did not end in time");
  if (std::ranges::find(runs_, run) != runs_.end()) forget(run);
  co_return Status{};
}

void RunTable::set_paused(bool paused) {
  is_paused_ = paused;
  for (const auto& run : runs_) run->set_paused(paused);
}

Task<> RunTable::close() {
  closed_ = true;
  for (const auto& run : runs_) {
    run->called_off_ = session_ended();
    run->steered_.notify();
  }
  co_await tasks_.join();
}

}  // namespace cloche::session
