// Programs that blocking code talks with, or leaves in the background.
#include "cloche/process.hpp"

#include <csignal>
#include <thread>

#include "library/library.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;

class ProcessTest : public Library {
 protected:
  static ExecSpec talking(const std::string& line) {
    ExecSpec spec = ExecSpec::shell(line);
    spec.stdin_mode = Stdin::stream;
    return spec;
  }
  static ExecSpec lasting(const std::string& line) {
    ExecSpec spec = ExecSpec::shell(line);
    spec.lifetime = Lifetime::background;
    return spec;
  }
  // What it prints on stdout until that ends with `end`.
  static std::string read_until(Process& process, const std::string& end) {
    std::string read;
    while (!read.ends_with(end)) {
      auto piece = process.next();
      if (std::holds_alternative<Outcome>(piece)) {
        ADD_FAILURE() << "it ended, having printed " << read;
        break;
      }
      read += std::get<ProcessOutput>(piece).bytes;
    }
    return read;
  }

  Engine engine_{options()};
};

TEST_F(ProcessTest, Conversation_GoesBackAndForth) {
  Sandbox sandbox = engine_.create(spec());
  Process process(sandbox, talking("while read a b; do echo $((a + b)); done; echo over >&2; exit 5"));
  EXPECT_EQ(process.background_id(), 0u);
  process.write_stdin("1 2\n");
  EXPECT_EQ(read_until(process, "\n"), "3\n");
  process.write_stdin("40 2\n");
  EXPECT_EQ(read_until(process, "\n"), "42\n");
  process.close_stdin();
  const RunResult rest = process.wait();
  EXPECT_EQ(rest.out, "");
  EXPECT_EQ(rest.err, "over\n");
  EXPECT_EQ(rest.outcome.exit_code, 5);
}

TEST_F(ProcessTest, WriterAndReader_MayBeTwoThreads) {
  Sandbox sandbox = engine_.create(spec());
  Process process(sandbox, talking("cat"));
  const std::string much(4'000'000, 'x');
  std::thread writer([&] {
    process.write_stdin(much);
    process.close_stdin();
  });
  std::size_t count = 0;
  for (auto piece = process.next(); !std::holds_alternative<Outcome>(piece); piece = process.next()) {
    count += std::get<ProcessOutput>(piece).bytes.size();
  }
  writer.join();
  EXPECT_EQ(count, mib(1).count) << "as much as keep_output lets through";
}

TEST_F(ProcessTest, SignalAndStop_ReachIt) {
  Sandbox sandbox = engine_.create(spec());
  Process trapping(sandbox,
                   ExecSpec::shell("trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.05; done"));
  read_until(trapping, "ready\n");
  trapping.signal(SIGTERM);
  const RunResult caught = trapping.wait();
  EXPECT_EQ(caught.out, "caught\n");
  EXPECT_EQ(caught.outcome.exit_code, 7);

  Process endless(sandbox, ExecSpec::shell("echo ready; sleep 1000"));
  read_until(endless, "ready\n");
  endless.stop();
  EXPECT_EQ(endless.wait().outcome.ending, Ending::cancelled);
}

TEST_F(ProcessTest, ObjectThatGoes_TakesItsProgramAlong) {
  Sandbox sandbox = engine_.create(spec());
  {
    Process endless(sandbox, ExecSpec::shell("echo ready; sleep 1000"));
    read_until(endless, "ready\n");
    Process moved = std::move(endless);
  }
  while (sandbox.run(ExecSpec::shell("pgrep -x sleep")).outcome.exit_code == 0) std::this_thread::sleep_for(10ms);
}

TEST_F(ProcessTest, Background_GoesOnWithoutAnybodyAndIsFoundAgain) {
  Sandbox sandbox = engine_.create(spec());
  std::uint64_t id = 0;
  {
    Process started(sandbox, lasting("echo begun; until [ -e go ]; do sleep 0.05; done; echo went; exit 4"));
    id = started.background_id();
    EXPECT_NE(id, 0u);
  }
  const auto running = background_processes(sandbox);
  ASSERT_THAT(running, SizeIs(1));
  EXPECT_EQ(running[0].id, id);
  EXPECT_TRUE(running[0].running);
  EXPECT_THAT(running[0].argv, SizeIs(3));
  Process attached = Process::attach(sandbox, id);
  EXPECT_EQ(read_until(attached, "begun\n"), "begun\n");
  sandbox.write_file("go", "");
  const RunResult rest = attached.wait();
  EXPECT_EQ(rest.out, "went\n");
  EXPECT_EQ(rest.outcome.exit_code, 4);
  EXPECT_FALSE(background_processes(sandbox).at(0).running);
  EXPECT_EQ(Process::attach(sandbox, id).wait().out, "begun\nwent\n");
  EXPECT_THROW(Process::attach(sandbox, id + 1).wait(), SandboxNotFoundError);
}

TEST_F(ProcessTest, Terminal_HasItsSize) {
  Sandbox sandbox = engine_.create(spec());
  ExecSpec shell = talking("echo ready; read x; stty size");
  shell.terminal = TerminalSize{10, 40};
  Process process(sandbox, shell);
  read_until(process, "ready\r\n");
  process.resize({20, 90});
  process.write_stdin("\n");
  EXPECT_THAT(process.wait().out, testing::HasSubstr("20 90"));
}

TEST_F(ProcessTest, WhatMakesNoSense_IsThrown) {
  Sandbox sandbox = engine_.create(spec());
  ExecSpec bytes = talking("cat");
  bytes.stdin_mode = Stdin::bytes;
  EXPECT_THROW(Process(sandbox, bytes), SandboxArgumentError);
  Process missing(sandbox, {.argv = {"no-such-program"}});
  EXPECT_EQ(missing.wait().outcome.ending, Ending::not_started);
  Process lost(sandbox, ExecSpec::shell("sleep 1000"));
  sandbox.destroy();
  EXPECT_THROW(lost.wait(), SandboxLostError);
  EXPECT_THROW(background_processes(sandbox), SandboxLostError);
}

TEST_F(ProcessTest, ListenerOfAProgramThatDoesNotReadItsInput_HearsItAll) {
  Sandbox sandbox = engine_.create(spec());
  ExecSpec deaf = ExecSpec::shell("exec <&-; echo deaf");
  deaf.stdin_mode = Stdin::bytes;
  deaf.input = std::string(8'000'000, 'x');
  std::string heard;
  const RunResult result = sandbox.run(deaf, {.out = [&](std::string_view bytes) { heard += bytes; }});
  EXPECT_TRUE(result.outcome.success());
  EXPECT_EQ(heard, "deaf\n");
}

}  // namespace
}  // namespace cloche
