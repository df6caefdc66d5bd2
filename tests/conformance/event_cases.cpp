// Events: a separate descriptor of the program, besides stdout and stderr, and scripts that use it.
#include <csignal>

#include "conformance/conformance.hpp"
#include "script/script_executor.hpp"

namespace cloche {

namespace {

ExecSpec shell_with_events(std::string line) {
  ExecSpec spec = ExecSpec::shell(std::move(line));
  spec.events = EventPipe{};
  return spec;
}

}  // namespace

CONFORMANCE(EventsOfAProgram_ComeApartFromWhatItPrints) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = shell_with_events("echo $CLOCHE_EVENT_FD; echo event >&3; echo err >&2; echo more >&3");
    spec.env = {{"CLOCHE_EVENT_FD", "not this"}};
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.out, "3\n");
    EXPECT_EQ(ran.err, "err\n");
    EXPECT_EQ(ran.events, "event\nmore\n");
    EXPECT_EQ(ran.outcome.events.produced.count, 11u);
    EXPECT_EQ(ran.outcome.events.dropped.count, 0u);
  });
}

CONFORMANCE(ProgramThatHasNoEvents_HasNoSuchDescriptor) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, "echo ${CLOCHE_EVENT_FD-none}; test -e /proc/$$/fd/3 || echo closed");
    EXPECT_EQ(ran.out, "none\nclosed\n");
    EXPECT_EQ(ran.events, "");
  });
}

CONFORMANCE(EventsOfManyBytes_ArriveWholeBesideManyOfOutput) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = shell_with_events("head -c 3000000 /dev/zero >&3 & head -c 2000000 /dev/zero; wait");
    spec.keep_output = mib(4);
    spec.events->keep = mib(4);
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.events.size(), 3'000'000u);
    EXPECT_EQ(ran.out.size(), 2'000'000u);
  });
}

CONFORMANCE(EventsOverTheirCaps_AreCutAndThenEndTheProgram) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec kept = shell_with_events("head -c 1000 /dev/zero >&3; echo out");
    kept.events->keep = Bytes{100};
    const auto cut = co_await run_program(sandbox, std::move(kept));
    EXPECT_EQ(cut.events.size(), 100u);
    EXPECT_EQ(cut.out, "out\n") << "the caps are the lane's own";
    EXPECT_EQ(cut.outcome.events.dropped.count, 900u);
    EXPECT_TRUE(cut.outcome.success());
    ExecSpec endless = shell_with_events("cat /dev/zero >&3");
    endless.events->stop = mib(1);
    const auto ended = co_await run_program(sandbox, std::move(endless));
    EXPECT_EQ(ended.outcome.ending, Ending::output_limit);
  });
}

CONFORMANCE(EventDescriptorHeldByAnOrphan_DoesNotKeepTheExecOpen) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = shell_with_events("echo last >&3; sleep 100 & exit 5");
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.events, "last\n");
    EXPECT_EQ(ran.outcome.exit_code, 5);
    EXPECT_LT(ran.outcome.wall, 30s);
  });
}

CONFORMANCE(EventsOfAZygoteRun_AreNotInheritedByItsPrograms) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> imports;
    auto started = co_await sandbox.start_zygote("python", "python3", std::move(imports), Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    auto files = sandbox.files();
    auto written = co_await files.write("/workspace/main.py",
                                        "import os, subprocess\n"
                                        "os.write(int(os.environ['CLOCHE_EVENT_FD']), b'event\\n')\n"
                                        "subprocess.run(['sh', '-c', 'echo forged >&3; echo $?'], close_fds=False)\n");
    EXPECT_TRUE(written) << written.error().message;
    ExecSpec spec;
    spec.argv = {"main.py"};
    spec.zygote = "python";
    spec.events = EventPipe{};
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.events, "event\n") << ran.err;
    EXPECT_NE(ran.out, "0\n");
  });
}

CONFORMANCE(BackgroundExecWithEvents_IsRefused) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = shell_with_events("true");
    spec.lifetime = Lifetime::background;
    auto started = co_await sandbox.start(std::move(spec));
    EXPECT_FALSE(started);
  });
}

CONFORMANCE(Script_TellsEventsAndItsResult) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const ScriptExecutor executor;
    ScriptHarness options;
    auto prepared = co_await executor.prepare(sandbox, std::move(options), Deadline::after(60s));
    EXPECT_TRUE(prepared) << prepared.error().message;
    std::vector<std::string> lines;
    ScriptListener sink = [&](const ScriptEvent& event) { lines.push_back(to_json(event)); };
    ScriptRequest request;
    request.source =
        "print('{\"type\":\"final_result\"}')\nintermediate('half', 21)\nfinal_result(inputs * 2)\nwhile True: pass";
    request.inputs = "21";
    auto ran = co_await executor.run(sandbox, std::move(request), std::move(sink), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    if (!ran) co_return;
    EXPECT_EQ(ran->ending, ScriptEnding::final_result);
    EXPECT_EQ(ran->final_result, "42");
    EXPECT_EQ(ran->logs.size(), 1u);
    EXPECT_EQ(lines.size(), 4u);
    EXPECT_EQ(lines.back(), R"({"type":"final_result","data":42})");
  });
}

CONFORMANCE(ScriptThatUsesUpTheMemory_SaysSo) {
  if (fake_has_no("memory limit")) return;
  SandboxSpec small = spec();
  small.limits.memory = mib(128);
  in_sandbox(small, [](LiveSandbox& sandbox) -> Task<> {
    const ScriptExecutor executor;
    ScriptHarness options;
    auto prepared = co_await executor.prepare(sandbox, std::move(options), Deadline::after(60s));
    EXPECT_TRUE(prepared) << prepared.error().message;
    ScriptRequest request;
    request.source = "intermediate('on')\nkept = []\nwhile True: kept.append(b'x' * 1_000_000)";
    ScriptListener nobody;
    auto ran = co_await executor.run(sandbox, std::move(request), std::move(nobody), Deadline::after(100s));
    EXPECT_TRUE(ran) << ran.error().message;
    if (!ran) co_return;
    EXPECT_EQ(ran->ending, ScriptEnding::memory);
    EXPECT_EQ(ran->error->fault, ScriptFault::memory);
  });
}

}  // namespace cloche
