#include "session/runs/run_code.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "core/async/shielded.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "session/runs/file_tar.hpp"
#include "session/runs/run_plan.hpp"

namespace cloche::session {

namespace {

using asio::experimental::awaitable_operators::operator&&;
using runner::StepKind;

constexpr std::size_t input_piece = 256 << 10;
constexpr std::chrono::seconds file_timeout{60};
constexpr std::chrono::seconds cleanup_timeout{20};
constexpr std::chrono::seconds artifact_timeout{60};
// Beyond this an archive of the caller's files is refused by the agent.
constexpr std::uint64_t most_files = 10'000;

// What a run holds of its session while it is running, whatever happens to the lease.
struct RunTarget {
  std::shared_ptr<LiveSandbox> sandbox;
  std::string work_dir;
};

Deadline within(std::chrono::seconds timeout, Deadline deadline) { return deadline.sooner(Deadline::after(timeout)); }

// Removes its private directory and everything in it. It cannot fail: what remains is removed with the session.
Task<> remove_directory(std::shared_ptr<LiveSandbox> sandbox, std::string directory) {
  auto files = sandbox->files();
  FilePath place(directory);
  const Deadline by = Deadline::after(cleanup_timeout);
  auto removed = co_await files.remove(std::move(place), Recursion::whole_tree, Missing::fine, by);
  if (removed || removed.error().code == ErrorCode::sandbox_lost) co_return;
  log::warn("sandbox {}: {}", sandbox->id().value, removed.error().message);
}

// A run's private directory from before it is made until it is gone.
struct PrivateDirectory {
  std::string path;
  enum class State { absent, there } state = State::absent;
};

// Does the work, then removes the directory if it is still there, also after a cancellation.
template <class Answer>
Task<Result<Answer>> and_clean_up(const RunTarget& target, PrivateDirectory& directory,
                                  std::function<Task<Result<Answer>>()> work) {
  std::optional<Result<Answer>> answer;
  std::exception_ptr thrown;
  try {
    auto done = co_await work();
    answer.emplace(std::move(done));
  } catch (...) {
    thrown = std::current_exception();
  }
  if (directory.state == PrivateDirectory::State::there) {
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    auto removal = [&target, &directory] { return remove_directory(target.sandbox, directory.path); };
    co_await shielded(std::move(removal));
    co_await asio::this_coro::throw_if_cancelled(throws);
  }
  if (thrown) std::rethrow_exception(thrown);
  co_return std::move(*answer);
}

// Which shell the session's sandbox has: bash where there is one, else sh. Looked for once.
class ShellChoice final : public SessionPart {
 public:
  explicit ShellChoice(Session& session) : session_(session) {}

  // Its absolute path.
  Task<Result<std::string>> find(Deadline deadline) {
    if (!found_.empty()) co_return found_;
    const auto sandbox = session_.lease().shared();
    auto files = sandbox->files();
    for (const char* path : {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"}) {
      FilePath place(path);
      auto about = co_await files.stat(std::move(place), Links::follow, deadline);
      if (about && about->type == FileType::regular && (about->mode & 0111U) != 0) {
        found_ = path;
        co_return found_;
      }
      if (!about && about.error().code != ErrorCode::not_found) co_return fail(std::move(about).error());
    }
    found_ = "/bin/sh";
    co_return found_;
  }

  Task<> close() override { co_return; }
  bool busy() const override { return false; }

 private:
  Session& session_;
  std::string found_;
};

Task<Result<RunPlan>> plan(Session& session, const LanguageRegistry& languages, const RunRequest& request,
                           Lifetime lifetime, Deadline deadline) {
  std::string shell;
  if (std::holds_alternative<ShellLine>(request.what)) {
    auto found = co_await session.part<ShellChoice>().find(deadline);
    if (!found) co_return fail(std::move(found).error());
    shell = std::move(*found);
  }
  const PlanContext context{languages, session.profile(), session.lease().binding(), std::move(shell)};
  co_return plan_run(context, request, lifetime);
}

// The start directory, which must be there.
Task<Status> check_start(const RunTarget& target, const RunPlan& planned, Deadline deadline) {
  if (planned.start.empty()) co_return Status{};
  const bool is_elsewhere = planned.start_in == RunPlan::StartIn::elsewhere;
  FilePath start = is_elsewhere ? FilePath::anywhere(planned.start)
                                : FilePath::beneath(target.work_dir, planned.start.substr(target.work_dir.size() + 1));
  auto files = target.sandbox->files();
  auto about = co_await files.stat(std::move(start), Links::follow, deadline);
  const bool is_wrong_path = !about && about.error().code != ErrorCode::sandbox_lost &&
                             about.error().code != ErrorCode::unsupported && about.error().code != ErrorCode::timeout;
  if (!about && !is_wrong_path) co_return fail(std::move(about).error());
  if (about && about->type == FileType::directory) co_return Status{};
  std::string why = "work_dir: no such directory";
  if (!is_elsewhere) why += " in the workspace";
  if (!about && about.error().code == ErrorCode::permission_denied) why += ": " + about.error().message;
  co_return fail(ErrorCode::invalid_argument, std::move(why));
}

// The caller's files into the workspace, all or none.
Task<Status> prepare_workspace(const RunTarget& target, const RunPlan& planned, RunRequest& request,
                               Deadline deadline) {
  auto files = target.sandbox->files();
  if (!request.files.empty()) {
    std::vector<FileToPack> packed;
    for (auto& [path, content] : request.files) packed.push_back({path, std::move(content)});
    TarCaps caps;
    Files::Source source = tar_for(files, std::move(packed), caps);
    FilePath place(target.work_dir);
    caps.entries = most_files;
    auto unpacked = co_await files.unpack(std::move(place), std::move(source), caps, deadline);
    if (!unpacked) co_return fail(std::move(unpacked).error().at("write the files"));
  }
  auto started = co_await check_start(target, planned, deadline);
  co_return started;
}

using StartExtras = LiveSandbox::StartExtras;
using StartFile = LiveSandbox::StartFile;

// A source of the usual size is sent with the program that reads it; a large one before.
Task<Status> write_large_source(const RunTarget& target, PrivateDirectory& directory, RunPlan& planned,
                                Deadline deadline) {
  if (planned.source.size() <= LiveSandbox::largest_start_file) co_return Status{};
  directory.state = PrivateDirectory::State::there;
  auto files = target.sandbox->files();
  FilePath place(planned.source_path);
  WriteOptions how;
  auto written = co_await files.write(std::move(place), std::move(planned.source), how, deadline);
  if (!written) co_return fail(std::move(written).error().at("write the source"));
  co_return Status{};
}

// For the first program that is started; nothing if it is already written.
std::optional<StartFile> source_to_send(PrivateDirectory& directory, RunPlan& planned) {
  if (directory.path.empty() || directory.state == PrivateDirectory::State::there) return std::nullopt;
  directory.state = PrivateDirectory::State::there;
  return StartFile{planned.source_path, std::move(planned.source)};
}

// The caller's files, and the source where it is large.
Task<Status> prepare(const RunTarget& target, PrivateDirectory& directory, RunPlan& planned, RunRequest& request,
                     Deadline deadline) {
  const Deadline by = within(file_timeout, deadline);
  CLOCHE_CO_CHECK(fallible_point<"run.prepare">());
  auto prepared = co_await prepare_workspace(target, planned, request, by);
  if (!prepared) co_return prepared;
  auto written = co_await write_large_source(target, directory, planned, by);
  co_return written;
}

// The same, with a mark that is younger than the caller's files and older than any program.
Task<Result<WorkspaceMark>> prepare_and_mark(const RunTarget& target, PrivateDirectory& directory, RunPlan& planned,
                                             RunRequest& request, Deadline deadline) {
  auto prepared = co_await prepare(target, directory, planned, request, deadline);
  if (!prepared) co_return fail(std::move(prepared).error());
  const Deadline by = within(file_timeout, deadline);
  auto mark = co_await WorkspaceMark::take(*target.sandbox, target.work_dir, request.artifacts.rules, by);
  co_return mark;
}

Task<> feed(Exec& exec, std::string_view input, Deadline deadline) {
  // A program need not read its input to the end.
  for (bool wanted = true; wanted && !input.empty(); input.remove_prefix(std::min(input_piece, input.size()))) {
    std::string next(input.substr(0, input_piece));
    auto sent = co_await exec.write_stdin(std::move(next), deadline);
    wanted = sent.has_value();
  }
  exec.close_stdin();
}

struct StepEnd {
  Outcome outcome;
  std::optional<Exec::Seen> seen;
};

Task<Result<StepEnd>> run_step(const RunTarget& target, ExecSpec spec, StartExtras extras, std::string_view input,
                               const RunObserver& observer, Deadline deadline) {
  StepLimits limits;
  limits.wall = spec.wall_limit;
  const Deadline guard = runner::guard_of(limits, deadline);
  CLOCHE_CO_CHECK(fallible_point<"run.step.start">());
  auto started = co_await target.sandbox->start(std::move(spec), std::move(extras), guard);
  if (!started) co_return fail(std::move(started).error());
  const auto exec = std::move(*started);
  const runner::ExecObserverScope watched(observer.exec, *exec);
  OutputSink sink = [&observer](Output piece) {
    fault_point<"run.output">();
    if (observer.output) observer.output(std::move(piece));
  };
  Result<Outcome> ended;
  if (input.empty()) {
    ended = co_await exec->read(std::move(sink), guard);
  } else {
    ended = co_await (exec->read(std::move(sink), guard) && feed(*exec, input, guard));
  }
  if (!ended) co_return fail(std::move(ended).error());
  CLOCHE_CO_CHECK(fallible_point<"run.step.end">());
  co_return StepEnd{std::move(*ended), exec->seen()};
}

void put_verdict(RunResult& result, runner::Verdict verdict) {
  result.category = verdict.category;
  result.cause = verdict.cause;
  result.reason = std::move(verdict.reason);
}

// True if the program is ready to run; otherwise the result says why not.
Task<Result<bool>> compile(const RunTarget& target, PrivateDirectory& directory, RunPlan& planned, RunResult& result,
                           Deadline deadline) {
  if (!planned.compile) co_return true;
  ExecSpec spec = *planned.compile;
  StartExtras extras;
  extras.file = source_to_send(directory, planned);
  RunObserver observer;
  observer.output = [&compiled = result.compile](const Output& piece) {
    (piece.stream == Stream::out ? compiled.out : compiled.err) += piece.bytes;
  };
  const std::string_view no_input;
  auto step = co_await run_step(target, std::move(spec), std::move(extras), no_input, observer, deadline);
  if (!step) co_return fail(std::move(step).error().at("compile"));
  result.compile.ran = true;
  result.compile.outcome = step->outcome;
  runner::Verdict verdict = planned.judge(StepKind::compile, step->outcome);
  if (verdict.passed()) co_return true;
  result.outcome = std::move(step->outcome);
  put_verdict(result, std::move(verdict));
  co_return false;
}

// How the program ended is known; that not all it made could be found does not change it.
Task<ArtifactList> find_artifacts(const RunTarget& target, PrivateDirectory& directory, const WorkspaceMark& mark,
                                  ArtifactCaps caps) {
  const Deadline by = Deadline::after(artifact_timeout);
  if (directory.state == PrivateDirectory::State::there) {
    auto found = co_await mark.changes(*target.sandbox, caps, directory.path, by);
    if (found) {
      directory.state = PrivateDirectory::State::absent;
      co_return std::move(*found);
    }
    // The cause may be the directory, which other programs of the session use.
  }
  const std::string nothing;
  auto found = co_await mark.changes(*target.sandbox, caps, nothing, by);
  if (found) co_return std::move(*found);
  log::info("sandbox {}: artifacts: {}", target.sandbox->id().value, found.error().message);
  ArtifactList none;
  none.cut = true;
  co_return none;
}

// The agent has looked extras with the run, where that was quick; else it is asked now.
Task<ArtifactList> take_artifacts(const RunTarget& target, PrivateDirectory& directory, std::optional<Exec::Seen> seen,
                                  ArtifactCaps caps) {
  ArtifactList none;
  none.cut = true;
  if (!seen) co_return none;  // it went with its sandbox
  fault_point<"run.artifacts">();
  const WorkspaceMark mark(target.work_dir, seen->since_ns);
  if (!seen->changes) {
    auto found = co_await find_artifacts(target, directory, mark, caps);
    co_return found;
  }
  directory.state = PrivateDirectory::State::absent;
  EntryList changed = std::move(*seen->changes);
  const Deadline by = Deadline::after(artifact_timeout);
  auto told = co_await describe_artifacts(*target.sandbox, target.work_dir, std::move(changed), caps, by);
  if (told) co_return std::move(*told);
  log::info("sandbox {}: artifacts: {}", target.sandbox->id().value, told.error().message);
  co_return none;
}

StartExtras::ChangeScan change_scan_of(const RunTarget& target, const PrivateDirectory& directory,
                                       const ChangeRules& rules) {
  StartExtras::ChangeScan scan{FilePath(target.work_dir), {}, {}};
  scan.caps.rules = rules;
  if (directory.state == PrivateDirectory::State::there) scan.discard = directory.path;
  return scan;
}

Task<Result<RunResult>> run_planned(const RunTarget& target, PrivateDirectory& directory, RunPlan& planned,
                                    RunRequest& request, const RunObserver& observer, Deadline deadline) {
  auto prepared = co_await prepare(target, directory, planned, request, deadline);
  if (!prepared) co_return fail(std::move(prepared).error());
  RunResult result;
  auto compiled = co_await compile(target, directory, planned, result, deadline);
  if (!compiled) co_return fail(std::move(compiled).error());
  if (!*compiled) co_return result;
  ExecSpec spec = planned.run;
  StartExtras extras;
  extras.file = source_to_send(directory, planned);
  extras.change_scan = change_scan_of(target, directory, request.artifacts.rules);
  auto step = co_await run_step(target, std::move(spec), std::move(extras), request.input, observer, deadline);
  if (!step) co_return fail(std::move(step).error());
  result.outcome = std::move(step->outcome);
  put_verdict(result, planned.judge(StepKind::run, result.outcome));
  auto artifacts = co_await take_artifacts(target, directory, std::move(step->seen), request.artifacts);
  result.artifacts = std::move(artifacts);
  co_return result;
}

using Started = std::variant<BackgroundRun, RunResult>;

Task<Result<Started>> start_planned(const RunTarget& target, PrivateDirectory& directory, RunPlan& planned,
                                    RunRequest& request, Deadline deadline) {
  auto mark = co_await prepare_and_mark(target, directory, planned, request, deadline);
  if (!mark) co_return fail(std::move(mark).error());
  RunResult result;
  auto compiled = co_await compile(target, directory, planned, result, deadline);
  if (!compiled) co_return fail(std::move(compiled).error());
  if (!*compiled) co_return Started(std::move(result));
  // Once the agent was asked to start it, it is registered here, even if the caller is gone.
  auto starting = [&target, spec = planned.run, extras = StartExtras{source_to_send(directory, planned), {}},
                   by = within(file_timeout, deadline)]() mutable {
    return target.sandbox->start(std::move(spec), std::move(extras), by);
  };
  auto started = co_await shielded(std::move(starting));
  if (!started) co_return fail(std::move(started).error());
  BackgroundRun run;
  run.id = (*started)->background_id();
  run.directory = directory.path;
  run.mark = std::move(*mark);
  run.compile = std::move(result.compile);
  run.artifacts = request.artifacts;
  run.judge = [planned](const Outcome& outcome) { return planned.judge(StepKind::run, outcome); };
  directory.state = PrivateDirectory::State::absent;  // the run's own from now on
  co_return Started(std::move(run));
}

Result<RunTarget> target_of(Session& session) {
  if (session.state() == SessionState::paused) return fail(Session::paused_error(session.key()));
  if (session.state() != SessionState::live) return fail(ErrorCode::sandbox_lost, "the session has ended");
  return RunTarget{session.lease().shared(), session.work_dir()};
}

}  // namespace

Task<Result<RunResult>> run_in_session(Session& session, const LanguageRegistry& languages, RunRequest request,
                                       RunObserver observer, Deadline deadline) {
  CLOCHE_CO_TRY(const RunTarget target, target_of(session));
  request.artifacts.rules = request.artifact_choice.over(session.artifact_rules());
  auto planned = co_await plan(session, languages, request, Lifetime::foreground, deadline);
  if (!planned) co_return fail(std::move(planned).error());
  PrivateDirectory directory{planned->directory};
  std::function<Task<Result<RunResult>>()> work = [&] {
    return run_planned(target, directory, *planned, request, observer, deadline);
  };
  auto result = co_await and_clean_up(target, directory, std::move(work));
  co_return result;
}

Task<Result<std::variant<BackgroundRun, RunResult>>> start_in_background(Session& session,
                                                                         const LanguageRegistry& languages,
                                                                         RunRequest request, Deadline deadline) {
  CLOCHE_CO_TRY(const RunTarget target, target_of(session));
  request.artifacts.rules = request.artifact_choice.over(session.artifact_rules());
  auto planned = co_await plan(session, languages, request, Lifetime::background, deadline);
  if (!planned) co_return fail(std::move(planned).error());
  PrivateDirectory directory{planned->directory};
  std::function<Task<Result<Started>>()> work = [&] {
    return start_planned(target, directory, *planned, request, deadline);
  };
  auto started = co_await and_clean_up(target, directory, std::move(work));
  co_return started;
}

Task<RunResult> conclude_background(Session& session, BackgroundRun run, Outcome outcome, Deadline deadline) {
  RunResult result;
  result.compile = std::move(run.compile);
  result.outcome = std::move(outcome);
  put_verdict(result, run.judge ? run.judge(result.outcome)
                                : runner::judge_step(StepKind::run, runner::CommandOwner::caller, result.outcome));
  result.artifacts.cut = true;
  if (deadline.passed() || !session.lease()) co_return result;
  const RunTarget target{session.lease().shared(), session.work_dir()};
  PrivateDirectory directory{run.directory};
  if (!run.directory.empty()) directory.state = PrivateDirectory::State::there;
  if (run.mark) {
    auto artifacts = co_await find_artifacts(target, directory, *run.mark, run.artifacts);
    result.artifacts = std::move(artifacts);
  }
  if (directory.state == PrivateDirectory::State::there) co_await remove_directory(target.sandbox, directory.path);
  co_return result;
}

}  // namespace cloche::session
