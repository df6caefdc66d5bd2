// How many processes and threads a program gets, and what becomes of one that wants more.
#include <array>

#include "conformance/conformance.hpp"

namespace cloche {

namespace {

SandboxSpec with_processes(SandboxSpec spec, std::uint32_t pids) {
  spec.limits.pids = pids;
  spec.limits.memory = mib(512);
  return spec;
}

// Starts processes that sleep until there are `most` or one is refused, and prints how many there are.
std::string forks(int most) {
  return "import os, time\n"
         "n = 0\n"
         "try:\n"
         "    while n < " +
         std::to_string(most) +
         ":\n"
         "        if os.fork() == 0:\n"
         "            time.sleep(60); os._exit(0)\n"
         "        n += 1\n"
         "except BlockingIOError: pass\n"
         "print(n)\n";
}

Task<int> count_forks(LiveSandbox& sandbox, int most) {
  const auto ran = co_await run_python(sandbox, forks(most));
  EXPECT_EQ(ran.outcome.ending, Ending::exited) << ran.err;
  co_return std::atoi(ran.out.c_str());
}

Task<> expect_it_works(LiveSandbox& sandbox) {
  const auto ran = co_await run_shell(sandbox, "echo works");
  EXPECT_EQ(ran.out, "works\n") << to_string(ran.outcome.ending) << " " << ran.outcome.reason << ran.err;
  EXPECT_FALSE(sandbox.lost());
}

// Not where they are used: g++ 12 cannot keep an initializer list in a coroutine.
std::vector<std::string> shell_bomb() { return {"bash", "-c", ":(){ :|:& };:; sleep 60"}; }
std::vector<std::string> python_bomb() { return {"python3", "-c", "import os\nwhile True:\n    os.fork()\n"}; }

Task<> expect_bomb_is_survived(LiveSandbox& sandbox, std::vector<std::string> argv) {
  ExecSpec spec;
  spec.argv = std::move(argv);
  spec.wall_limit = 3s;
  spec.keep_output = kib(64);
  auto ran = co_await sandbox.run(std::move(spec), Deadline::after(60s));
  EXPECT_TRUE(ran) << ran.error().message;
  co_await expect_it_works(sandbox);
}

// The same on gVisor, at the memory limit. Where other work has the processors, the bomb may fill what is between this
// limit and the host's before it is stopped. The sandbox is lost then, and says why.
Task<> expect_bomb_is_survived_or_named(LiveSandbox& sandbox, std::vector<std::string> argv) {
  ExecSpec bomb;
  bomb.argv = std::move(argv);
  bomb.wall_limit = 3s;
  bomb.keep_output = kib(64);
  auto ran = co_await sandbox.run(std::move(bomb), Deadline::after(60s));
  EXPECT_TRUE(ran) << ran.error().message;
  const Deadline patience = Deadline::after(60s);
  bool works = false;
  // gVisor returns the memory of what was killed a little later. Until then a new program is at the limit too.
  while (!works && !sandbox.lost() && !patience.passed()) {
    ExecSpec echo = ExecSpec::shell("echo works");
    auto said = co_await sandbox.run(std::move(echo), Deadline::after(60s));
    EXPECT_TRUE(said || sandbox.lost()) << said.error().message;
    works = said && said->out == "works\n";
    EXPECT_TRUE(works || !said || said->outcome.ending == Ending::memory_limit) << to_string(said->outcome.ending);
  }
  EXPECT_TRUE(works || sandbox.lost());
  if (sandbox.lost()) {
    EXPECT_THAT(sandbox.lost()->message, HasSubstr("memory limit"));
  }
}

}  // namespace

CONFORMANCE(AsManyProcessesAsAskedFor_CanRun) {
  in_sandbox(with_processes(spec(), 128), [](LiveSandbox& sandbox) -> Task<> {
    static constexpr std::array counts = {"10", "64", "100"};
    for (const char* count : counts) {
      const auto ran = co_await run_shell(
          sandbox, std::string("for i in $(seq ") + count + "); do sleep 1 & done; wait && echo all");
      EXPECT_EQ(ran.out, "all\n") << count << ": " << ran.err;
    }
    const auto pool = co_await run_python(sandbox,
                                          "import multiprocessing\n"
                                          "with multiprocessing.Pool(32) as pool:\n"
                                          "    print(sum(pool.map(abs, range(-100, 0))))\n");
    EXPECT_EQ(pool.out, "5050\n") << pool.err;
  });
}

CONFORMANCE(MoreProcessesThanAskedFor_AreRefused) {
  if (fake_has_no("walls")) return;
  in_sandbox(with_processes(spec(), 64), [](LiveSandbox& sandbox) -> Task<> {
    const int made = co_await count_forks(sandbox, 500);
    EXPECT_GE(made, 56);
    EXPECT_LE(made, 64);
    co_await expect_it_works(sandbox);
  });
}

CONFORMANCE(MoreThreadsThanAskedFor_AreRefused) {
  if (fake_has_no("walls")) return;
  in_sandbox(with_processes(spec(), 128), [](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox,
                                         "import os, threading, time\n"
                                         "n = 0\n"
                                         "try:\n"
                                         "    while n < 6000:\n"
                                         "        threading.Thread(target=time.sleep, args=(60,)).start(); n += 1\n"
                                         "except RuntimeError: pass\n"
                                         "print(100 <= n <= 128, n, flush=True)\n"
                                         "os._exit(0)\n");
    EXPECT_THAT(ran.out, HasSubstr("True"));
    co_await expect_it_works(sandbox);
  });
}

CONFORMANCE(NewNamespace_LiftsNoLimitOfProcesses) {
  if (fake_has_no("walls")) return;
  in_sandbox(with_processes(spec(), 64), [](LiveSandbox& sandbox) -> Task<> {
    // In a user namespace of its own a program has all capabilities; limits must not be a matter of those.
    const auto ran = co_await run_python(sandbox,
                                         "import ctypes, os\n"
                                         "libc = ctypes.CDLL(None, use_errno=True)\n"
                                         "user = 0x10000000\n"
                                         "clone3_arguments = (ctypes.c_uint64 * 11)(user, 0, 0, 0, 17)\n"
                                         "made = []\n"
                                         "if libc.unshare(user) == 0: made.append('unshare')\n"
                                         "child = libc.syscall(56, user | 17, 0, 0, 0, 0)\n"
                                         "if child == 0: os._exit(0)\n"
                                         "if child > 0: made.append('clone')\n"
                                         "child = libc.syscall(435, clone3_arguments, 88)\n"
                                         "if child == 0: os._exit(0)\n"
                                         "if child > 0: made.append('clone3')\n"
                                         "print(made)\n" +
                                             forks(300));
    EXPECT_THAT(ran.out, testing::MatchesRegex("\\[\\]\n[56].\n")) << ran.err;
  });
}

CONFORMANCE(ForkBomb_HasAVerdictAndTheSandboxLives) {
  if (fake_has_no("walls")) return;
  in_sandbox(with_processes(spec(), 64), [](LiveSandbox& sandbox) -> Task<> {
    co_await expect_bomb_is_survived(sandbox, shell_bomb());
    co_await expect_bomb_is_survived(sandbox, python_bomb());
  });
}

// The limits of sessions. On gVisor as many interpreters as this need more memory than there is.
CONFORMANCE(ForkBombAtTheMemoryLimit_HasAVerdictAndTheSandboxLives) {
  if (fake_has_no("walls")) return;
  if (target().is_gvisor() && target().backend == "docker")
    CLOCHE_DOES_NOT_APPLY("an engine does not report memory use fast enough to kill a program before gVisor is killed");
  in_sandbox(with_processes(spec(), 128), [this](LiveSandbox& sandbox) -> Task<> {
    for (int i = 0; i < 3 && !sandbox.lost(); ++i) {
      if (target().is_gvisor()) {
        co_await expect_bomb_is_survived_or_named(sandbox, python_bomb());
      } else {
        co_await expect_bomb_is_survived(sandbox, python_bomb());
      }
    }
  });
}

CONFORMANCE(LimitOfProcesses_CanBeChanged) {
  if (fake_has_no("walls")) return;
  in_sandbox(with_processes(spec(), 64), [](LiveSandbox& sandbox) -> Task<> {
    Limits fewer = sandbox.spec().limits;
    fewer.pids = 24;
    auto lowered = co_await sandbox.set_limits(fewer);
    EXPECT_TRUE(lowered) << lowered.error().message;
    const int few = co_await count_forks(sandbox, 200);
    EXPECT_GE(few, 16);
    EXPECT_LE(few, 24);
    Limits more = fewer;
    more.pids = 64;
    auto raised = co_await sandbox.set_limits(more);
    EXPECT_TRUE(raised) << raised.error().message;
    const int many = co_await count_forks(sandbox, 200);
    EXPECT_GE(many, 56);
    EXPECT_LE(many, 64);
  });
}

CONFORMANCE(StringThatDoesNotFit_IsAtTheMemoryLimitWithItsPeak) {
  if (fake_has_no("memory limit")) return;
  auto small = spec();
  small.limits.memory = mib(128);
  in_sandbox(small, [](LiveSandbox& sandbox) -> Task<> {
    const auto ran = co_await run_python(sandbox, "text = 'x' * (218 << 20)\nprint(len(text))\n");
    EXPECT_EQ(ran.outcome.ending, Ending::memory_limit) << to_string(ran.outcome.ending);
    EXPECT_GT(ran.outcome.peak_memory, mib(16));
    if (sandbox.lost()) {
      EXPECT_THAT(sandbox.lost()->message, HasSubstr("memory limit"));
    }
  });
}

}  // namespace cloche
