// A program's whole tree ends with it.
#include "conformance/conformance.hpp"

namespace cloche {

namespace {

// Lines of `ps`-like facts from /proc: how many sleeps are there?
Task<int> count_sleeps(LiveSandbox& sandbox) {
  const auto ran = co_await run_shell(sandbox,
                                      "n=0; for f in /proc/[0-9]*/comm; do read -r c < $f && [ \"$c\" = sleep ] && "
                                      "n=$((n+1)); done 2>/dev/null; echo $n");
  co_return std::atoi(ran.out.c_str());
}

}  // namespace

CONFORMANCE(ChildLeftBehind_EndsWithItsProgram) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_shell(sandbox, "sleep 100 & echo done");
    EXPECT_EQ(ran.out, "done\n");
    EXPECT_LT(ran.outcome.wall, 30s) << "a child that holds stdout open is not waited for";
    const int left = co_await count_sleeps(sandbox);
    EXPECT_EQ(left, 0);
  });
}

CONFORMANCE(DoubleForkedSetsidGrandchild_EndsWithItsProgram) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox,
                                         "import os\n"
                                         "if os.fork() == 0:\n"
                                         "    os.setsid()\n"
                                         "    if os.fork() == 0:\n"
                                         "        os.setsid()\n"
                                         "        os.execvp('sleep', ['sleep', '100'])\n"
                                         "    os._exit(0)\n"
                                         "os.wait()\n"
                                         "import time\n"
                                         "time.sleep(0.3)\n"
                                         "print('left')\n");
    EXPECT_EQ(ran.out, "left\n");
    const int left = co_await count_sleeps(sandbox);
    EXPECT_EQ(left, 0);
  });
}

CONFORMANCE(TreeAtItsWallLimit_EndsWhole) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec = ExecSpec::shell("for i in 1 2 3; do setsid sh -c 'sleep 100; true' & done; sleep 100");
    spec.wall_limit = 500ms;
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::wall_limit);
    const int left = co_await count_sleeps(sandbox);
    EXPECT_EQ(left, 0);
  });
}

CONFORMANCE(ForkBomb_EndsAtItsLimitAndTheSandboxGoesOn) {
  if (fake_has_no("limit on processes")) return;
  if (target().is_gvisor()) CLOCHE_DOES_NOT_APPLY("a fork bomb ends a whole gVisor sandbox; see hardening");
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    ExecSpec spec;
    spec.argv = {"python3", "-c",
                 "import os\n"
                 "while True:\n"
                 "    try: os.fork()\n"
                 "    except OSError: pass\n"};
    spec.wall_limit = 1s;
    const auto ran = co_await run_program(sandbox, std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::wall_limit);
    const auto after = co_await run_shell(sandbox, "echo alive");
    EXPECT_EQ(after.out, "alive\n");
  });
}

CONFORMANCE(TwoTrees_OneEndsAndTheOtherLives) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    auto lives = co_await sandbox.start(ExecSpec::shell("setsid sleep 100 & read x; echo still"));
    EXPECT_TRUE(lives);
    ExecSpec waits = ExecSpec::shell("(setsid sleep 100 &) ; echo waiting; read x; echo still here");
    waits.stdin_mode = Stdin::stream;
    auto started = co_await sandbox.start(std::move(waits));
    auto& exec = **started;
    (void)co_await exec.next(Deadline::after(60s));
    (void)co_await run_shell(sandbox, "setsid sleep 100 & true");
    (void)co_await exec.write_stdin("\n");
    const auto end = co_await exec.collect(Deadline::after(60s));
    EXPECT_EQ(end.value().out, "still here\n");
  });
}

CONFORMANCE(KillEverythingInSight_DoesNotReachTheAgent) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    (void)co_await run_shell(sandbox, "kill -9 1; kill -STOP 1; kill -9 -1; true");
    const auto after = co_await run_shell(sandbox, "echo alive");
    EXPECT_EQ(after.out, "alive\n");
  });
}

CONFORMANCE(TracingOrReadingTheAgent_IsRefused) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(
        sandbox,
        "import ctypes, os\n"
        "def can(path, mode):\n"
        "    try: return bool(open(path, mode).read(1) if 'r' in mode else open(path, mode))\n"
        "    except OSError: return False\n"
        "channel = [(p, m) for p in ['/proc/1/fd/0', '/proc/1/fd/1'] for m in ['rb', 'wb'] if can(p, m)]\n"
        "memory = [p for p in ['/proc/1/mem', '/proc/1/environ', '/proc/1/maps'] if can(p, 'rb')]\n"
        "traced = ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0\n"
        "try: environment = open('/proc/1/environ').read().strip('\\0')\n"
        "except OSError: environment = ''\n"
        "print(channel, memory, traced, repr(environment))\n");
    // gVisor shows the names of all processes' files and mappings; the agent's environment is empty there, and its
    // memory and its channel are still out of reach.
    EXPECT_THAT(ran.out, target().is_gvisor() ? testing::HasSubstr("[] ") : testing::HasSubstr("[] [] False"))
        << ran.err;
    EXPECT_THAT(ran.out, testing::Not(HasSubstr("mem'")));
    EXPECT_THAT(ran.out, HasSubstr("False ''"));
  });
}

}  // namespace cloche
