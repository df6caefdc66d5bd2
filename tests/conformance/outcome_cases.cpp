// How a program ended: each way is distinguished, with the right evidence.
#include <csignal>

#include "conformance/conformance.hpp"

namespace cloche {

CONFORMANCE(ExitOne_IsExited) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, "exit 1");
    EXPECT_EQ(ran.outcome.ending, Ending::exited);
    EXPECT_EQ(ran.outcome.exit_code, 1);
  });
}

CONFORMANCE(Segfault_IsSignalled) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox, "import ctypes; ctypes.string_at(0)");
    EXPECT_EQ(ran.outcome.ending, Ending::signalled);
    EXPECT_EQ(ran.outcome.signal, SIGSEGV);
    EXPECT_EQ(ran.outcome.exit_code, 128 + SIGSEGV);
  });
}

CONFORMANCE(ProgramThatKillsItself_IsSignalledAndNotOutOfMemory) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, "kill -9 $$");
    EXPECT_EQ(ran.outcome.ending, Ending::signalled);
    EXPECT_EQ(ran.outcome.signal, SIGKILL);
  });
}

CONFORMANCE(MissingProgram_IsNotStarted) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_words(sandbox, "/no/such/program");
    EXPECT_EQ(ran.outcome.ending, Ending::not_started);
    EXPECT_EQ(ran.outcome.exit_code, 127);
    EXPECT_THAT(ran.outcome.reason, HasSubstr("No such file"));
    const auto unknown = co_await run_words(sandbox, "no-such-command");
    EXPECT_EQ(unknown.outcome.ending, Ending::not_started);
  });
}

CONFORMANCE(FileThatIsNoProgram_IsNotStarted) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox, "echo hello > data; chmod 644 data");
    const auto ran = co_await run_words(sandbox, "./data");
    EXPECT_EQ(ran.outcome.ending, Ending::not_started);
    EXPECT_EQ(ran.outcome.exit_code, 126);
  });
}

CONFORMANCE(MissingWorkDirectory_IsNotStarted) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("true");
    spec.cwd = "/workspace/nowhere";
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::not_started);
    EXPECT_THAT(ran.outcome.reason, HasSubstr("work directory"));
  });
}

CONFORMANCE(ProgramThatSleepsTooLong_IsAtItsWallLimit) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("echo before; sleep 100");
    spec.wall_limit = 500ms;
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::wall_limit);
    EXPECT_EQ(ran.out, "before\n") << "what was printed before the limit is kept";
    EXPECT_GE(ran.outcome.wall, 500ms);
  });
}

CONFORMANCE(ProgramThatIgnoresSigterm_IsAtItsWallLimitAllTheSame) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("trap '' TERM INT HUP; while :; do sleep 1; done");
    spec.wall_limit = 300ms;
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::wall_limit);
  });
}

CONFORMANCE(ProgramThatSpins_IsAtItsCpuLimit) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("while :; do :; done");
    spec.cpu_limit = 300ms;
    spec.wall_limit = 60s;
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::cpu_limit);
    EXPECT_GE(ran.outcome.cpu(), 250ms);
    EXPECT_LT(ran.outcome.wall, 30s);
  });
}

CONFORMANCE(TreeThatSpinsInItsChildren_IsAtItsCpuLimit) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("for i in 1 2 3; do (while :; do :; done) & done; sleep 100");
    spec.cpu_limit = 500ms;
    spec.wall_limit = 60s;
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::cpu_limit);
  });
}

CONFORMANCE(ProgramThatEndsAsItPrintsTooMuch_IsAtItsOutputLimit) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    for (int i = 0; i < 20; ++i) {
      ExecSpec spec = ExecSpec::shell("echo 0123456789");
      spec.stop_output = Bytes{10};
      const auto ran = co_await run_program(sandbox, std::move(spec));
      EXPECT_EQ(ran.outcome.ending, Ending::output_limit) << i;
      EXPECT_EQ(ran.outcome.out.produced.count, 11U);
    }
  });
}

CONFORMANCE(ProgramThatPrintsForever_IsAtItsOutputLimit) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("yes");
    spec.keep_output = kib(64);
    spec.stop_output = mib(2);
    spec.wall_limit = 60s;
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::output_limit);
    EXPECT_EQ(ran.out.size(), kib(64).count);
    EXPECT_GT(ran.outcome.out.dropped, mib(1));
  });
}

CONFORMANCE(ProgramThatEatsMemory_IsAtItsMemoryLimit) {
  if (fake_has_no("memory limit")) return;
  auto small = spec();
  // gVisor's own kernel lives within the same limit.
  small.limits.memory = target().is_gvisor() ? mib(256) : mib(64);
  in_sandbox(small, [](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec;
    spec.argv = {"python3", "-c", "hog = []\nwhile True: hog.append(bytearray(1 << 20))"};
    spec.wall_limit = 60s;
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::memory_limit) << to_string(ran.outcome.ending);
    EXPECT_GT(ran.outcome.oom_kills, 0u);
  });
}

CONFORMANCE(MemoryKilledChildOfAShell_IsAtItsMemoryLimit) {
  if (fake_has_no("memory limit")) return;
  if (target().is_gvisor() && target().backend == "docker") {
    CLOCHE_DOES_NOT_APPLY("an engine does not always tell of a kill that gVisor's kernel survives");
  }
  auto small = spec();
  small.limits.memory = target().is_gvisor() ? mib(256) : mib(64);
  in_sandbox(small, [](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("python3 -c 'x = bytearray(1 << 30)'; exit $?");
    spec.wall_limit = 60s;
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::memory_limit) << to_string(ran.outcome.ending);
  });
}

CONFORMANCE(ProgramAfterAMemoryKill_IsNotBlamedForIt) {
  if (fake_has_no("memory limit")) return;
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("a memory kill ends a whole gVisor sandbox");
  auto small = spec();
  small.limits.memory = mib(64);
  in_sandbox(small, [](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_python(sandbox, "x = bytearray(1 << 30)");
    const auto ran = co_await run_shell(sandbox, "kill -9 $$");
    EXPECT_EQ(ran.outcome.ending, Ending::signalled);
  });
}

CONFORMANCE(StoppedProgram_IsCancelled) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto started = co_await sandbox.start(ExecSpec::shell("sleep 100"));
    (*started)->stop();
    const auto end = co_await (*started)->collect(Deadline::after(60s));
    EXPECT_EQ(end.value().outcome.ending, Ending::cancelled);
  });
}

}  // namespace cloche
