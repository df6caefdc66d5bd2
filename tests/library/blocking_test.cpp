// The blocking library, as its users see it.
#include <csignal>
#include <fstream>
#include <future>
#include <thread>

#include "cloche/sandbox.hpp"
#include "core/log.hpp"
#include "library/library.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Blocking : public Library {};

TEST_F(Blocking, LogOfAProgramThatHasSetUpNone_KeepsOffStdout) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const Engine engine(options());
  log::info("work goes on");
  log::warn("a warning");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("a warning"));
  EXPECT_THAT(said, Not(HasSubstr("work goes on")));
}

TEST_F(Blocking, ProgramThatRuns_OutputInputAndEnvironmentAreItsOwn) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  EXPECT_EQ(sandbox.runtime(), "crun");
  EXPECT_THAT(sandbox.id(), Not(IsEmpty()));

  ExecSpec exec = ExecSpec::shell("cat; echo $GREETING >&2; pwd >&2; exit 4");
  exec.stdin_mode = Stdin::bytes;
  exec.input = "input\n";
  exec.env["GREETING"] = "hello";
  exec.cwd = "/tmp";
  const RunResult result = sandbox.run(exec);
  EXPECT_EQ(result.out, "input\n");
  EXPECT_EQ(result.err, "hello\n/tmp\n");
  EXPECT_EQ(result.outcome.ending, Ending::exited);
  EXPECT_EQ(result.outcome.exit_code, 4);
  EXPECT_FALSE(result.outcome.success());
  EXPECT_GT(result.outcome.wall, 0us);
  EXPECT_EQ(result.outcome.out.produced, Bytes{6});
}

TEST_F(Blocking, ProgramThatEndsBadly_IsAnOutcomeAndNotThrown) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  EXPECT_EQ(sandbox.run({.argv = {"/no/such/program"}}).outcome.ending, Ending::not_started);
  EXPECT_EQ(sandbox.run({.argv = {"sleep", "100"}, .wall_limit = 100ms}).outcome.ending, Ending::wall_limit);
  EXPECT_EQ(sandbox.run(ExecSpec::shell("kill -ABRT $$")).outcome.signal, SIGABRT);
}

TEST_F(Blocking, Listener_IsToldWhileTheProgramRuns) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  std::promise<void> heard;
  std::string out;
  std::string err;
  OutputListener listener;
  listener.out = [&](std::string_view bytes) {
    if (out.empty()) heard.set_value();
    out += bytes;
  };
  listener.err = [&](std::string_view bytes) { err += bytes; };
  // The program waits for a file that another thread writes once the first words were heard.
  std::thread writer([&] {
    heard.get_future().wait();
    sandbox.write_file("go", "on");
  });
  ExecSpec exec = ExecSpec::shell("cat; until [ -e go ]; do sleep 0.01; done; echo two; echo three >&2");
  exec.stdin_mode = Stdin::bytes;
  exec.input = "one\n";
  const RunResult result = sandbox.run(exec, listener);
  writer.join();
  EXPECT_EQ(out, "one\ntwo\n");
  EXPECT_EQ(err, "three\n");
  EXPECT_EQ(result.out, "") << "what a listener was told is not told again";
  EXPECT_TRUE(result.outcome.success());
}

TEST_F(Blocking, ListenerThatThrows_StopsTheProgramAndTellsTheCaller) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  OutputListener listener;
  listener.out = [](std::string_view) { throw std::logic_error("enough"); };
  EXPECT_THROW(sandbox.run(ExecSpec::shell("echo x; sleep 1000"), listener), std::logic_error);
  EXPECT_EQ(sandbox.run(ExecSpec::shell("echo on")).out, "on\n");
}

TEST_F(Blocking, Files_AreWrittenFoundMovedAndRemoved) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  const std::string bytes("a\0b\nneedle\n", 11);
  sandbox.write_file("dir/sub/file", bytes, 0640);
  EXPECT_EQ(sandbox.read_file("dir/sub/file"), bytes);
  EXPECT_EQ(sandbox.read_file("/workspace/dir/sub/file"), bytes);
  const Entry entry = sandbox.stat("dir/sub/file");
  EXPECT_EQ(entry.type, EntryType::regular);
  EXPECT_EQ(entry.size, 11u);
  EXPECT_EQ(entry.mode, 0640u);

  sandbox.make_directory("other");
  sandbox.move("dir/sub/file", "other/file.txt");
  EXPECT_THAT(sandbox.list("dir/sub").entries, IsEmpty());
  const EntryListing found = sandbox.glob(".", "**/*.txt");
  ASSERT_EQ(found.entries.size(), 1u);
  EXPECT_EQ(found.entries[0].path, "other/file.txt");

  sandbox.write_file("other/text", "one\nneedle two\n");
  const MatchListing matches = sandbox.grep("other", "^needle");
  ASSERT_FALSE(matches.matches.empty());
  EXPECT_EQ(matches.matches.back().path, "text");
  EXPECT_EQ(matches.matches.back().line, 2u);
  EXPECT_EQ(matches.matches.back().text, "needle two");

  const std::string tar = sandbox.pack("other");
  sandbox.unpack("copy", tar);
  EXPECT_THAT(sandbox.run(ExecSpec::shell("find copy -name file.txt | wc -l")).out, HasSubstr("1"));
  sandbox.remove("other");
  EXPECT_THROW(sandbox.stat("other"), SandboxNotFoundError);
}

TEST_F(Blocking, ResetAndZygote_WorkOnALivingSandbox) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  sandbox.start_zygote("py", {"json"});
  sandbox.write_file("main.py", "import sys\nprint('json' in sys.modules)\n");
  EXPECT_EQ(sandbox.run({.argv = {"main.py"}, .zygote = "py"}).out, "True\n");
  sandbox.reset();
  EXPECT_THAT(sandbox.list(".").entries, IsEmpty());

  Limits limits = sandbox.spec().limits;
  limits.memory = mib(300);
  sandbox.set_limits(limits);
  EXPECT_EQ(sandbox.run({.argv = {"python3", "-c", "x = bytearray(200 << 20); print(1)"}}).out, "1\n");
}

TEST_F(Blocking, Errors_AreOfTheirClass) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  EXPECT_THROW(sandbox.read_file("nowhere"), SandboxNotFoundError);
  EXPECT_THROW(sandbox.read_file("../../etc/passwd"), SandboxArgumentError);
  EXPECT_THROW(sandbox.run(ExecSpec{}), SandboxArgumentError);
  EXPECT_THROW(sandbox.move("relative", "/absolute"), SandboxArgumentError);
  EXPECT_THROW(sandbox.run({.argv = {"x.py"}, .zygote = "none"}), SandboxNotFoundError);
  sandbox.write_file("large", std::string(1000, 'x'));
  EXPECT_THROW(sandbox.read_file("large", Bytes{100}), SandboxResourceError);
  EXPECT_THROW(sandbox.pack("large", Bytes{100}), SandboxResourceError);
  EXPECT_EQ(sandbox.run(ExecSpec::shell("echo on")).out, "on\n") << "none of that did any harm";

  sandbox.destroy();
  sandbox.destroy();
  EXPECT_THROW(sandbox.run(ExecSpec::shell("true")), SandboxLostError);

  SandboxSpec other = spec();
  other.image = "/no/such/image";
  EXPECT_THROW(engine.create(other), SandboxNotFoundError);
  other = spec();
  other.runtime = "jet";
  EXPECT_THROW(engine.create(other), SandboxUnavailableError);
  other = spec();
  other.limits.pids = 0;
  EXPECT_THROW(engine.create(other), SandboxArgumentError);
  EXPECT_THROW(Engine(options("no/name")), SandboxArgumentError);
  EngineOptions nowhere = options();
  nowhere.state_dir = "/proc/nowhere";
  EXPECT_THROW(Engine{nowhere}, SandboxError);
}

// Whether it is process 1 where it lives: the last number of NSpid in its status.
bool is_first_of_its_namespace(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("NSpid:")) return line.ends_with("\t1");
  }
  return false;
}

TEST_F(Blocking, SandboxKilledFromOutside_IsLost) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  std::thread killer([&] {
    std::ifstream processes(std::filesystem::path(cgroups_of(sandbox.id()).at(0)) / "cgroup.procs");
    for (pid_t pid = 0; processes >> pid;) {
      if (is_first_of_its_namespace(pid)) ::kill(pid, SIGKILL);
    }
  });
  EXPECT_THROW(sandbox.run({.argv = {"sleep", "1000"}}), SandboxLostError);
  killer.join();
}

TEST_F(Blocking, Destructor_EndsTheSandbox) {
  std::string id;
  {
    Engine engine(options());
    Sandbox sandbox = engine.create(spec());
    id = sandbox.id();
    EXPECT_THAT(cgroups_of(id), Not(IsEmpty()));
  }
  EXPECT_THAT(cgroups_of(id), IsEmpty());
}

TEST_F(Blocking, SandboxAssignedOver_IsEndedAndTheOtherLives) {
  Engine engine(options());
  Sandbox first = engine.create(spec());
  const std::string id = first.id();
  first = engine.create(spec());
  EXPECT_THAT(cgroups_of(id), IsEmpty());
  EXPECT_EQ(first.run(ExecSpec::shell("echo on")).out, "on\n");
}

TEST_F(Blocking, SandboxThatOutlivesItsEngineObject_GoesOn) {
  auto engine = std::make_unique<Engine>(options());
  Sandbox sandbox = engine->create(spec());
  engine.reset();
  EXPECT_EQ(sandbox.run(ExecSpec::shell("echo on")).out, "on\n");
}

TEST_F(Blocking, ManyThreads_EachGetsItsOwnAnswer) {
  Engine engine(options());
  Sandbox sandbox = engine.create(spec());
  std::vector<std::thread> threads;
  std::vector<std::string> answers(8);
  threads.reserve(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    threads.emplace_back([&, i] { answers[i] = sandbox.run(ExecSpec::shell("echo " + std::to_string(i))).out; });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(answers, ElementsAre("0\n", "1\n", "2\n", "3\n", "4\n", "5\n", "6\n", "7\n"));
}

TEST_F(Blocking, Examine_TellsOfThisHost) {
  Engine engine(options());
  const auto findings = engine.examine();
  const auto is_crun = [](const HostFinding& finding) {
    return finding.backend == "oci" && finding.name == "runtime crun" && finding.level == HostFinding::Level::good;
  };
  EXPECT_THAT(findings, testing::Contains(testing::Truly(is_crun)));
}

}  // namespace
}  // namespace cloche
