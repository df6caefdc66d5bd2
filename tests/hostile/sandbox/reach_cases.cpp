// A program that tries to reach every descriptor and file of every process of ours while the server is using the same
// sandbox.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "context/python_context.hpp"
#include "hostile/sandbox/place.hpp"
#include "support/missing.hpp"

namespace cloche::hostile {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::Target;

namespace {

enum class Work { nothing, zygote_runs, execs, terminals, files, context };
constexpr Work all_work[] = {Work::nothing,   Work::zygote_runs, Work::execs,
                             Work::terminals, Work::files,       Work::context};

std::string name_of(Work work) {
  switch (work) {
    case Work::nothing: return "Idle";
    case Work::zygote_runs: return "ZygoteRuns";
    case Work::execs: return "Execs";
    case Work::terminals: return "Terminals";
    case Work::files: return "Files";
    case Work::context: return "Context";
  }
  return "";
}

// What gVisor allows to all processes and that leads nowhere: it shows names and addresses, never contents, and stores
// numbers of its scheduler that it does not use. A reset finds the latter changed. See docs/security.md.
const std::vector<std::string> harmless_on_gvisor{"sched_set", "setpriority",    "ioprio_set", "read environ",
                                                  "read maps", "read smaps",     "read auxv",  "read fdinfo",
                                                  "read ns/",  "get_robust_list"};

// The ways that its own child shows to be ways; without them the walk would prove little.
const std::vector<std::string> ways{"control: kill of",           "control: read its limits of",
                                    "control: set its limits of", "control: sched_setaffinity of",
                                    "control: setpriority of",    "control: read mem of",
                                    "control: attach of",         "control: open a descriptor to write"};

Task<> run_program(Place& place, LiveSandbox& sandbox, ExecSpec spec) {
  spec.env = place.stage().environment();
  auto ran = co_await sandbox.run(std::move(spec), Deadline::after(60s));
  // How it ends is not judged: it has the walker's user, who may trace it as soon as it is a program.
  EXPECT_TRUE(ran) << ran.error().message;
}

Task<> work_on_files(LiveSandbox& sandbox) {
  auto files = sandbox.files();
  const std::string content(1 << 20, 'c');
  auto written = co_await files.write("/workspace/work/file", content, WriteOptions(), Deadline::after(60s));
  EXPECT_TRUE(written) << written.error().message;
  FileRange all;
  auto got = co_await files.read("/workspace/work/file", all, mib(2), Deadline::after(60s));
  EXPECT_TRUE(got) << got.error().message;
  auto listed = co_await files.list("/usr/bin", Recursion::whole_tree, Deadline::after(60s));
  EXPECT_TRUE(listed) << listed.error().message;
}

Task<> work_once(Place& place, LiveSandbox& sandbox, Work work, PythonContext* context) {
  ExecSpec spec;
  spec.wall_limit = 30s;
  switch (work) {
    case Work::nothing: co_return;
    case Work::zygote_runs:
      spec.argv = {"/attack/attack.py"};
      spec.zygote = "python";
      co_await run_program(place, sandbox, std::move(spec));
      co_return;
    case Work::execs:
      spec.argv = {"/bin/sh", "-c", "true; (true)"};
      co_await run_program(place, sandbox, std::move(spec));
      co_return;
    case Work::terminals:
      spec.argv = {"/bin/sh", "-c", "echo there; (true)"};
      spec.terminal = TerminalSize{};
      co_await run_program(place, sandbox, std::move(spec));
      co_return;
    case Work::files: co_await work_on_files(sandbox); co_return;
    case Work::context: {
      CellRequest cell;
      cell.code = "1 + 1";
      OutputSink listener = [](const Output&) {};
      auto ran = co_await context->execute(std::move(cell), std::move(listener), Deadline::after(60s));
      EXPECT_TRUE(ran) << ran.error().message;
    }
  }
}

}  // namespace

class HostileReach : public testing::TestWithParam<std::tuple<Target, Work>> {
 protected:
  static void TearDownTestSuite() { leave_all_places(); }

  const Target& target() const { return std::get<0>(GetParam()); }
  Work work() const { return std::get<1>(GetParam()); }
  int rounds() const { return work() == Work::nothing ? 0 : target().is_gvisor() ? 8 : 25; }

  Task<> walk(Place& place) {
    // A walk makes many threads of gVisor's kernel, which count as pids: each has a sandbox of its own there.
    if (target().is_gvisor()) place.spoil();
    LiveSandbox* sandbox = co_await place.sandbox();
    if (sandbox == nullptr) co_return;
    std::vector<std::string> imports(1, "json");
    auto zygote =
        co_await sandbox->start_zygote("python", "/usr/bin/python3", std::move(imports), Deadline::after(60s));
    EXPECT_TRUE(zygote) << zygote.error().message;
    std::unique_ptr<PythonContext> context;
    if (work() == Work::context) {
      PythonContextOptions options;
      auto opened = co_await PythonContext::open(*sandbox, std::move(options), Deadline::after(60s));
      EXPECT_TRUE(opened) << opened.error().message;
      if (!opened) co_return;
      context = std::move(*opened);
    }
    ExecSpec spec;
    spec.argv = command_of({"processes/reach", "until-told", "userns"});
    spec.env = place.stage().environment();
    spec.wall_limit = 100s;
    spec.stdin_mode = Stdin::stream;
    auto walker = co_await sandbox->start(std::move(spec), Deadline::after(60s));
    EXPECT_TRUE(walker) << walker.error().message;
    if (!walker) co_return;
    auto first = co_await (*walker)->next(Deadline::after(60s));
    EXPECT_TRUE(first && std::holds_alternative<Output>(*first)) << "the walker did not begin";
    for (int i = 0; i < rounds(); ++i) co_await work_once(place, *sandbox, work(), context.get());
    (*walker)->close_stdin();
    auto walked = co_await (*walker)->collect(Deadline::after(100s));
    EXPECT_TRUE(walked) << walked.error().message;
    if (context) co_await context->close();
    if (!walked || !first) co_return;
    judge(std::get<Output>(*first).bytes + walked->out);
    co_await place.expect_unharmed(Place::Loss::is_a_failure);
    if (target().is_gvisor()) place.spoil();
  }

  void judge(const std::string& output) const {
    const Verdict verdict = verdict_of(output);
    EXPECT_TRUE(verdict.done) << output;
    auto holes = verdict.holes;
    if (target().is_gvisor()) {
      std::erase_if(holes, [](const std::string& hole) {
        return std::ranges::any_of(harmless_on_gvisor, [&](const auto& words) { return hole.starts_with(words); });
      });
    }
    EXPECT_THAT(holes, IsEmpty()) << output;
    for (const auto& way : ways) EXPECT_THAT(output, HasSubstr(way));
    // On oci with crun and runc they are hidden, and tried by number.
    const bool are_hidden = target().backend == "oci" && !target().is_gvisor();
    for (const char* process : {"cloche-agent", "cloche-super", "python3"}) {
      if (!are_hidden) {
        EXPECT_THAT(output, HasSubstr(process));
      }
    }
  }
};

TEST_P(HostileReach, ProcessesWithMoreRights_CannotBeReached) {
  if (const auto lack = testing_support::lack_of(target())) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
  if (target().backend == "docker" && std::getenv("CLOCHE_TEST_DOCKER_REMOTE") != nullptr)
    CLOCHE_DOES_NOT_APPLY("the programs are seen through a mount, and the engine is remote");
  Place& place = place_of(target());
  place.run([&]() -> Task<> { co_await walk(place); });
}

INSTANTIATE_TEST_SUITE_P(Processes, HostileReach,
                         testing::Combine(testing::ValuesIn(walled_targets()), testing::ValuesIn(all_work)),
                         [](const auto& about) {
                           return std::get<0>(about.param).name() + "_" + name_of(std::get<1>(about.param));
                         });

}  // namespace cloche::hostile
