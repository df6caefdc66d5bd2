// Contexts: interpreters that live on from call to call, and the order between output and events that they rest on.
#include "conformance/conformance.hpp"
#include "context/python_context.hpp"
#include "context/shell_context.hpp"

namespace cloche {

namespace {

Task<CellResult> run_cell(PythonContext& python, std::string code, std::chrono::milliseconds limit = 60s) {
  CellRequest request;
  request.code = std::move(code);
  request.wall_limit = limit;
  OutputSink no_sink;
  auto ran = co_await python.execute(std::move(request), std::move(no_sink), Deadline::after(100s));
  EXPECT_TRUE(ran) << ran.error().message;
  co_return ran ? std::move(*ran) : CellResult{};
}

Task<CommandResult> run_command(ShellContext& shell, std::string command, std::chrono::milliseconds limit = 60s) {
  CommandRequest request;
  request.command = std::move(command);
  request.wall_limit = limit;
  OutputSink no_sink;
  auto ran = co_await shell.run(std::move(request), std::move(no_sink), Deadline::after(100s));
  EXPECT_TRUE(ran) << ran.error().message;
  co_return ran ? std::move(*ran) : CommandResult{};
}

Task<std::unique_ptr<PythonContext>> open_python(LiveSandbox& sandbox) {
  PythonContextOptions options;
  auto opened = co_await PythonContext::open(sandbox, std::move(options), Deadline::after(60s));
  EXPECT_TRUE(opened) << opened.error().message;
  co_return opened ? std::move(*opened) : nullptr;
}

Task<std::unique_ptr<ShellContext>> open_shell(LiveSandbox& sandbox, ShellContextOptions::Shell kind) {
  ShellContextOptions options;
  options.shell = kind;
  options.grace = 30s;  // not what is tested: each command here ends at the first try, on a busy machine late
  auto opened = co_await ShellContext::open(sandbox, std::move(options), Deadline::after(60s));
  EXPECT_TRUE(opened) << opened.error().message;
  co_return opened ? std::move(*opened) : nullptr;
}

}  // namespace

CONFORMANCE(EventAfterMuchOutput_ComesAfterAllOfIt) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    // More than the lanes' credit, on both.
    ExecSpec spec = ExecSpec::shell(
        "for i in 1 2 3 4 5; do head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; echo $i >&3; done; sleep 100");
    spec.keep_output = mib(4);
    spec.events = EventPipe{};
    auto started = co_await sandbox.start(std::move(spec));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    std::size_t out = 0;
    std::size_t err = 0;
    std::size_t events = 0;
    while (events < 5) {
      auto piece = co_await (*started)->next(Deadline::after(60s));
      const auto* output = piece ? std::get_if<Output>(&*piece) : nullptr;
      EXPECT_TRUE(output != nullptr);
      if (output == nullptr) co_return;
      if (output->stream == Stream::out) out += output->bytes.size();
      if (output->stream == Stream::err) err += output->bytes.size();
      if (output->stream != Stream::event) continue;
      events += output->bytes.size() / 2;
      EXPECT_GE(out, events * 300'000);
      EXPECT_GE(err, events * 300'000);
    }
    (*started)->stop();
  });
}

CONFORMANCE(PythonContext_KeepsItsStateOverErrorsAndTimeouts) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto python = co_await open_python(sandbox);
    if (!python) co_return;
    const auto first =
        co_await run_cell(*python, "x = 20\nprint('out')\nimport sys; print('err', file=sys.stderr)\nx + 1");
    EXPECT_EQ(first.value, "21");
    EXPECT_EQ(first.out, "out\n");
    EXPECT_EQ(first.err, "err\n");
    const auto raised = co_await run_cell(*python, "x / 0");
    EXPECT_EQ(raised.ending, ContextEnding::error);
    EXPECT_TRUE(raised.error && raised.error->type == "ZeroDivisionError");
    const auto slow = co_await run_cell(*python, "x = 21\nwhile True: pass", 700ms);
    EXPECT_EQ(slow.ending, ContextEnding::timeout);
    EXPECT_EQ(slow.state, ContextState::kept) << slow.reason;
    const auto much = co_await run_cell(*python, "print('y' * 500_000)");
    EXPECT_EQ(much.out.size(), 500'001u);
    const auto after = co_await run_cell(*python, "x * 2");
    EXPECT_EQ(after.value, "42");
    EXPECT_EQ(after.out, "");
    const auto gone = co_await run_cell(*python, "import os; os._exit(3)");
    EXPECT_EQ(gone.ending, ContextEnding::lost);
    const auto dead = co_await run_cell(*python, "1");
    EXPECT_EQ(dead.ending, ContextEnding::lost);
    auto restarted = co_await python->restart(Deadline::after(60s));
    EXPECT_TRUE(restarted) << restarted.error().message;
    const auto anew = co_await run_cell(*python, "'x' in globals()");
    EXPECT_EQ(anew.value, "False");
    co_await python->close();
    const auto left = co_await run_shell(sandbox, "cat /proc/[0-9]*/comm | grep -c '^python'");
    EXPECT_EQ(left.out, "0\n");
  });
}

CONFORMANCE(PythonContextThatUsesUpTheMemory_SaysSoAndCanBeMadeAnew) {
  if (fake_has_no("memory limit")) return;
  SandboxSpec small = spec();
  small.limits.memory = mib(128);
  in_sandbox(small, [](LiveSandbox& sandbox) -> Task<> {
    const auto python = co_await open_python(sandbox);
    if (!python) co_return;
    const auto used_up = co_await run_cell(*python, "kept = []\nwhile True: kept.append(b'x' * 1_000_000)");
    EXPECT_EQ(used_up.ending, ContextEnding::memory) << used_up.reason;
    EXPECT_EQ(used_up.state, ContextState::lost);
    if (sandbox.lost()) co_return;  // where the whole sandbox goes with it
    auto restarted = co_await python->restart(Deadline::after(60s));
    EXPECT_TRUE(restarted) << restarted.error().message;
    const auto anew = co_await run_cell(*python, "1 + 1");
    EXPECT_EQ(anew.value, "2");
    co_await python->close();
  });
}

CONFORMANCE(PythonContextFromAZygote_Serves) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> imports(1, "json");
    auto prepared =
        co_await PythonContext::prepare(sandbox, "cells", "python3", std::move(imports), Deadline::after(60s));
    EXPECT_TRUE(prepared) << prepared.error().message;
    PythonContextOptions options;
    options.zygote = "cells";
    auto opened = co_await PythonContext::open(sandbox, std::move(options), Deadline::after(60s));
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) co_return;
    (void)co_await run_cell(**opened, "import sys, os\nx = 'json' in sys.modules");
    const auto slow = co_await run_cell(**opened, "while True: pass", 500ms);
    EXPECT_EQ(slow.state, ContextState::kept) << slow.reason;
    const auto ran = co_await run_cell(**opened, "x, os.getuid()");
    EXPECT_EQ(ran.value, "(True, " + std::to_string(uid_of(sandbox.spec())) + ")");
    co_await (*opened)->close();
  });
}

CONFORMANCE(PythonContextThatPlots_SavesItsFiguresAndNothingElse) {
  if (target().backend == "docker" || target().is_kubernetes())
    CLOCHE_DOES_NOT_APPLY("the test's image has no matplotlib");
  SandboxSpec roomy = spec();
  roomy.limits.memory = mib(512);
  in_sandbox(roomy, [](LiveSandbox& sandbox) -> Task<> {
    const auto python = co_await open_python(sandbox);
    if (!python) co_return;
    const auto ran = co_await run_cell(*python,
                                       "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n"
                                       "figure, axes = plt.subplots()\naxes.bar(['a', 'b'], [1, 2])");
    EXPECT_EQ(ran.ending, ContextEnding::ok) << (ran.error ? ran.error->traceback : ran.reason);
    EXPECT_EQ(ran.figures.size(), 2u) << ran.err;
    const auto left = co_await run_shell(sandbox, "ls -A; head -qc 4 figures/*.png | tr -d '\\211'");
    EXPECT_EQ(left.out, "figures\nPNGPNG");
    co_await python->close();
  });
}

CONFORMANCE(ShellContext_KeepsItsStateAndIsCleanAfterATimeout) {
  SandboxSpec roomy = spec();
  roomy.limits.memory = mib(512);  // gVisor's own processes count
  in_sandbox(roomy, [](LiveSandbox& sandbox) -> Task<> {
    for (const auto kind : {ShellContextOptions::Shell::bash_or_sh, ShellContextOptions::Shell::sh}) {
      const auto shell = co_await open_shell(sandbox, kind);
      if (!shell) co_return;
      const auto set =
          co_await run_command(*shell, "cd /tmp; x='a b'; echo 42; echo err >&2; sleep 1000 & old=$!; (exit 3)");
      EXPECT_EQ(set.out, "42\n");
      EXPECT_EQ(set.err, "err\n");
      EXPECT_EQ(set.exit_code, 3);
      for (const char* command : {"echo on; sleep 100; echo not", "echo on; while :; do sleep 0.05; done",
                                  "echo on; (sleep 60; echo not) & sleep 100"}) {
        const auto slow = co_await run_command(*shell, command, 500ms);
        EXPECT_EQ(slow.ending, ContextEnding::timeout) << command;
        EXPECT_EQ(slow.out, "on\n") << command;
        EXPECT_NE(slow.state, ContextState::lost) << command << ": " << slow.reason;
        const auto after = co_await run_command(
            *shell, "echo \"$x $PWD\"; kill -0 $old && echo old; cat /proc/[0-9]*/stat | grep -c '(sleep) [^Z]'");
        EXPECT_EQ(after.out, "a b /tmp\nold\n1\n") << command << after.err;
        EXPECT_FALSE(after.fresh);
      }
      const auto left = co_await run_command(*shell, "exit 9");
      EXPECT_EQ(left.exit_code, 9);
      EXPECT_EQ(left.state, ContextState::handed_over) << left.reason;
      const auto found = co_await run_command(*shell, "echo \"$x\"; kill $old");
      EXPECT_EQ(found.out, "a b\n");
      const auto replaced = co_await run_command(*shell, "exec sh -c 'exit 4'");
      EXPECT_EQ(replaced.ending, ContextEnding::lost);
      EXPECT_EQ(replaced.exit_code, 4);
      const auto anew = co_await run_command(*shell, "pwd; echo \"[$x]\"");
      EXPECT_EQ(anew.out, "/tmp\n[]\n");
      EXPECT_TRUE(anew.fresh);
      co_await shell->close();
    }
  });
}

}  // namespace cloche
