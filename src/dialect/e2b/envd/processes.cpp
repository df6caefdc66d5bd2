#include "dialect/e2b/envd/processes.hpp"

#include <algorithm>

#include "core/async/guarded.hpp"
#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "dialect/e2b/envd/paths.hpp"
#include "dialect/e2b/sandbox_environment.hpp"
#include "session/runs/runs.hpp"

namespace cloche::dialect::e2b {

using connect::Code;
using connect::failure;
using connect::Reply;

namespace {

constexpr std::chrono::seconds start_timeout{60};
constexpr std::chrono::seconds search_timeout{30};
// For clients that come back late to learn how a program ended.
constexpr std::chrono::seconds ended_kept_for{30};
constexpr std::size_t most_ended = 256;

Error session_ended() { return {ErrorCode::sandbox_lost, "the session has ended"}; }

Reply<ExecSpec> spec_of(const ProgramStart& wanted, session::Session& session) {
  const ProcessConfig& config = wanted.request.config;
  ExecSpec spec;
  spec.argv.push_back(config.command);
  spec.argv.insert(spec.argv.end(), config.args.begin(), config.args.end());
  spec.env = config.env;
  spec.uid = wanted.user.uid;
  spec.gid = wanted.user.gid;
  spec.stdin_mode = wanted.request.has_stdin || wanted.request.terminal ? Stdin::stream : Stdin::closed;
  spec.terminal = wanted.request.terminal;
  spec.wall_limit = wanted.wall_limit;
  if (config.cwd && !config.cwd->empty()) {
    CLOCHE_TRY(spec.cwd, resolve_path(*config.cwd, wanted.user.home));
  } else if (wanted.user.uid == 0) {
    spec.cwd = wanted.user.home;
  }
  session.lease().binding().apply_to(spec);
  spec.env.merge(sandbox_environment(session));
  return spec;
}

connect::Failure not_started(const Outcome& outcome, const std::string& cwd) {
  constexpr std::string_view enter = "enter the work directory";
  if (outcome.reason.starts_with(enter)) return {Code::invalid_argument, "cwd '" + cwd + "' does not exist"};
  return {Code::invalid_argument, "error starting process: " + outcome.reason};
}

// How a program that has no process ended.
Task<connect::Failure> reason_of_end(LiveSandbox& sandbox, std::uint64_t background_id, std::string cwd) {
  auto attached = co_await sandbox.attach(background_id, LiveSandbox::AfterEnd::collect);
  if (!attached) co_return connect::Failure(std::move(attached).error());
  const auto exec = std::move(*attached);
  auto outcome = co_await exec->read([](const Output&) {}, Deadline::after(start_timeout));
  if (!outcome) co_return connect::Failure(std::move(outcome).error());
  co_return not_started(*outcome, cwd);
}

}  // namespace

Processes::Processes(session::Session& session)
    : Processes(session, session.is_recovered() ? Earlier::to_be_found : Earlier::none) {}

Processes::Processes(session::Session& session, Earlier earlier)
    : session_(session), earlier_(earlier), search_(session.executor(), 1), tasks_(session.executor()) {}

Task<Result<Processes*>> Processes::of(const session::SessionUse& use) {
  auto& processes = use->part<Processes>();
  CLOCHE_CO_CHECK(co_await processes.recover(Deadline::after(search_timeout)));
  co_return &processes;
}

Task<Status> Processes::recover(Deadline deadline) {
  if (earlier_ == Earlier::none) co_return Status{};
  const Gate::Pass turn = co_await search_.enter(Urgency::ordinary);
  if (earlier_ == Earlier::none) co_return Status{};
  CLOCHE_CO_CHECK(co_await find_earlier(deadline));
  earlier_ = Earlier::none;
  co_return Status{};
}

Task<Status> Processes::find_earlier(Deadline deadline) {
  const auto sandbox = session_.lease().shared();
  auto background = co_await sandbox->list_background(deadline);
  if (!background) co_return fail(std::move(background).error().at("find the session's earlier programs"));
  if (is_closed_) co_return fail(session_ended());
  for (const BackgroundEntry& entry : *background) {
    auto info = info_of_label(entry.label, entry.argv, entry.pid);
    if (!info) continue;
    ProgramHold hold;
    if (entry.running) {
      CLOCHE_CO_TRY(hold.ticket, session_.adopt(auth::Quota::runs));
    }
    add(std::make_shared<Program>(session_.executor(), std::move(*info), std::move(hold)), entry.id);
  }
  co_return Status{};
}

Task<Reply<std::unique_ptr<Follower>>> Processes::start(const session::SessionUse& use, ProgramStart wanted) {
  auto work = [this, &use, wanted = std::move(wanted)]() mutable { return start_program(use, std::move(wanted)); };
  co_return co_await shielded(std::move(work));
}

// A program that could not be registered would run unseen.
class StopUnlessAdded {
 public:
  explicit StopUnlessAdded(Exec& exec) : exec_(&exec) {}
  StopUnlessAdded(const StopUnlessAdded&) = delete;
  StopUnlessAdded& operator=(const StopUnlessAdded&) = delete;
  ~StopUnlessAdded() {
    if (exec_ != nullptr) exec_->stop();
  }
  void keep() { exec_ = nullptr; }

 private:
  Exec* exec_;
};

Task<Reply<std::unique_ptr<Follower>>> Processes::start_program(const session::SessionUse& use, ProgramStart wanted) {
  ProgramHold hold;
  CLOCHE_CO_TRY(hold.ticket, session_.take(auth::Quota::runs));
  CLOCHE_CO_TRY(session::Runs* const runs, co_await session::Runs::of(use));
  CLOCHE_CO_TRY(hold.place, runs->admit_terminal());
  if (is_closed_) co_return std::unexpected(connect::Failure(session_ended()));
  const auto sandbox = session_.lease().shared();
  CLOCHE_CO_TRY(ExecSpec spec, spec_of(wanted, session_));
  ProcessInfo info;
  info.config = std::move(wanted.request.config);
  info.tag = std::move(wanted.request.tag);
  info.has_stdin = wanted.request.has_stdin && !wanted.request.terminal;
  info.has_terminal = wanted.request.terminal.has_value();
  std::string label = label_of(info);
  std::string cwd = spec.cwd;
  auto started = co_await sandbox->start_relayed(std::move(spec), std::move(label), Deadline::after(start_timeout));
  if (!started) co_return std::unexpected(connect::Failure(std::move(started).error()));
  const std::uint64_t background_id = (*started)->background_id();
  info.pid = (*started)->pid();
  if (info.pid == 0) {
    connect::Failure why = co_await reason_of_end(*sandbox, background_id, std::move(cwd));
    co_return std::unexpected(std::move(why));
  }
  StopUnlessAdded unless_added(**started);
  CLOCHE_CO_CHECK(fallible_point<"e2b.process.started">());
  if (is_closed_) co_return std::unexpected(connect::Failure(session_ended()));
  auto program = std::make_shared<Program>(session_.executor(), std::move(info), std::move(hold));
  auto follower = std::make_unique<Follower>(program);
  add(program, background_id);
  unless_added.keep();
  co_return follower;
}

void Processes::add(const std::shared_ptr<Program>& program, std::uint64_t background_id) {
  purge();
  // The sandbox counts its processes anew after a while.
  std::erase_if(programs_,
                [&](const auto& each) { return !each->running() && each->info().pid == program->info().pid; });
  programs_.push_back(program);
  tasks_.spawn("follow a program",
               [this, program, background_id] { return follow(program, session_.lease().shared(), background_id); });
}

Task<> Processes::follow(std::shared_ptr<Program> program, std::shared_ptr<LiveSandbox> sandbox,
                         std::uint64_t background_id) {
  // However the task ends, the program does not look as if it were still running.
  struct Ended {
    std::shared_ptr<Program> program;
    ~Ended() { program->finish(fail(session_ended())); }
  } const ended{program};
  auto work = [&]() -> Task<Status> {
    auto attached = co_await sandbox->attach(background_id, LiveSandbox::AfterEnd::collect);
    if (!attached) co_return fail(std::move(attached).error());
    const std::shared_ptr<Exec> exec = std::move(*attached);
    program->set_exec(exec);
    for (;;) {
      auto next = co_await exec->next();
      if (!next) co_return fail(std::move(next).error());
      if (auto* outcome = std::get_if<Outcome>(&*next)) {
        program->finish(std::move(*outcome));
        co_return Status{};
      }
      Output output = std::get<Output>(std::move(*next));
      co_await program->deliver(std::move(output));
    }
  };
  auto followed = co_await guarded("program of a session", std::move(work));
  if (!followed) program->finish(fail(std::move(followed).error()));
  if (program->dropped().count > 0) {
    log::debug("session {}: {} bytes of process {} had no reader", session_.key().id, program->dropped().count,
               program->info().pid);
  }
}

void Processes::purge() {
  const auto now = Deadline::Clock::now();
  const auto is_old = [&](const auto& each) { return each->ended_at() && now - *each->ended_at() > ended_kept_for; };
  std::erase_if(programs_, is_old);
  std::size_t ended = 0;
  for (std::size_t i = programs_.size(); i-- > 0;) {
    if (!programs_[i]->running() && ++ended > most_ended)
      programs_.erase(programs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

Reply<std::shared_ptr<Program>> Processes::find(const ProcessSelector& selector) {
  purge();
  for (auto each = programs_.rbegin(); each != programs_.rend(); ++each) {
    const ProcessInfo& info = (*each)->info();
    if (selector.pid ? info.pid == *selector.pid : info.tag == selector.tag) return *each;
  }
  if (selector.pid) return failure(Code::not_found, "process with pid " + std::to_string(*selector.pid) + " not found");
  return failure(Code::not_found, "process with tag " + selector.tag + " not found");
}

std::vector<std::shared_ptr<Program>> Processes::running() const {
  std::vector<std::shared_ptr<Program>> all;
  std::ranges::copy_if(programs_, std::back_inserter(all), [](const auto& each) { return each->running(); });
  return all;
}

Task<> Processes::close() {
  is_closed_ = true;
  co_await tasks_.shut_down();
}

bool Processes::busy() const {
  return std::ranges::any_of(programs_, [](const auto& each) { return each->running(); });
}

}  // namespace cloche::dialect::e2b
