// A sandbox without a warm pool: from nothing to its first response.
#include "bench/alternatives/crun_run.hpp"
#include "bench/alternatives/docker.hpp"
#include "bench/pool_in_process.hpp"
#include "bench/scenarios/scenario.hpp"
#include "sandbox/live_sandbox.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto patience = 60s;

// Makes a sandbox and has `true` run in it; it is destroyed afterwards, untimed.
class Newcomer {
 public:
  Newcomer(Surroundings& surroundings, std::unique_ptr<Backend> backend, SandboxSpec spec)
      : surroundings_(surroundings), backend_(std::move(backend)), spec_(std::move(spec)) {}
  ~Newcomer() { destroy(); }
  Newcomer(const Newcomer&) = delete;
  Newcomer& operator=(const Newcomer&) = delete;

  Status answer() { return surroundings_.await(answer_task()); }
  void destroy() {
    if (!sandbox_) return;
    if (auto gone = surroundings_.await(sandbox_->destroy(Deadline::after(patience))); !gone) {
      tell("bench: a sandbox is left: " + gone.error().message);
    }
    sandbox_.reset();
  }

 private:
  Task<Status> answer_task() {
    SandboxSpec spec = spec_;
    auto enclosure = co_await backend_->create(std::move(spec), Deadline::after(patience));
    if (!enclosure) co_return fail(std::move(enclosure).error());
    auto opened = co_await LiveSandbox::open(std::move(*enclosure), Greeting::fresh, Deadline::after(patience));
    if (!opened) co_return fail(std::move(opened).error());
    sandbox_ = std::move(*opened);
    ExecSpec program;
    program.argv.emplace_back("true");
    auto ran = co_await sandbox_->run(std::move(program), Deadline::after(patience));
    if (!ran) co_return fail(std::move(ran).error());
    if (!ran->outcome.success()) co_return fail(ErrorCode::internal, "`true` failed");
    co_return Status{};
  }

  Surroundings& surroundings_;
  std::unique_ptr<Backend> backend_;
  SandboxSpec spec_;
  std::unique_ptr<LiveSandbox> sandbox_;
};

struct Field {
  std::vector<std::unique_ptr<Newcomer>> newcomers;
  std::vector<std::unique_ptr<DockerRun>> docker_runs;
  std::unique_ptr<CrunRun> crun;
  std::vector<Contender> contenders;
};

void enter_cloche(Field& field, Surroundings& surroundings, Section& section) {
  for (const Target& target : surroundings.targets()) {
    auto backend = make_backend(surroundings, target);
    if (!backend) {
      section.lacks.push_back({"cloche, " + target.name(), backend.error().message});
      continue;
    }
    Newcomer& newcomer = *field.newcomers.emplace_back(
        std::make_unique<Newcomer>(surroundings, std::move(*backend), sandbox_spec(surroundings, target)));
    field.contenders.push_back({.name = "cloche, " + target.name(),
                                .attempt = [&newcomer] { return newcomer.answer(); },
                                .afterwards = [&newcomer] { newcomer.destroy(); },
                                .per_round = target.has_engine() || target.is_gvisor() ? 1 : 3});
  }
}

void enter_others(Field& field, Surroundings& surroundings, Section& section) {
  const std::vector<std::string> nothing{"/usr/bin/true"};
  auto crun = CrunRun::prepare(surroundings, nothing, "");
  if (crun) {
    field.crun = std::move(*crun);
    field.contenders.push_back({.name = "crun run", .attempt = [&field] { return field.crun->run(); }, .per_round = 3});
  } else {
    section.lacks.push_back({"crun run", crun.error().message});
  }
  if (!surroundings.docker()) return;
  DockerRun& run = *field.docker_runs.emplace_back(std::make_unique<DockerRun>(surroundings, "runc", nothing, ""));
  field.contenders.push_back(
      {.name = "docker run, runc", .attempt = [&run] { return run.run(); }, .afterwards = [&run] { run.remove(); }});
}

}  // namespace

Result<Section> measure_new_sandbox(Surroundings& surroundings) {
  Section section;
  section.title = "A new sandbox to its first response";
  section.method =
      "The time from nothing to the end of `true` in a new sandbox. A sandbox of Cloche then has its agent, limits, "
      "seccomp and uid range, and remains. The container of `crun run` has only namespaces and no limits, and its "
      "figure includes its removal. The other figures do not include removal.";
  section.reference = "crun run";
  Field field;
  enter_cloche(field, surroundings, section);
  enter_others(field, surroundings, section);
  const Rounds rounds = surroundings.pick(Rounds{1, 3}, Rounds{2, 30});
  CLOCHE_TRY(auto standings, hold_contest(field.contenders, rounds));
  add_standings(section, std::move(standings));
  const double ratio = times_smaller(find_figure(section, "crun run"), find_figure(section, "cloche, oci/crun"));
  if (ratio > 0) {
    section.goals.push_back({"new sandbox to first response, `oci` with crun", "`crun run` of `true`",
                             "at most twice its time (p50)", times_text(ratio), ratio <= 2});
  }
  return section;
}

}  // namespace cloche::bench
