// Python from a zygote: the semantics of `python3 main.py` at the price of a fork.
#include "conformance/conformance.hpp"

namespace cloche {

namespace {

constexpr const char* endings[] = {
    "import sys; sys.exit(3)",
    "raise SystemExit('bye')",
    "print('unterminated",
    "import os; os._exit(9)",
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "import no_such_module",
    "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()"};

Task<> start_python(LiveSandbox& sandbox, std::vector<std::string> imports = {}) {
  auto started = co_await sandbox.start_zygote("python", "python3", std::move(imports), Deadline::after(60s));
  EXPECT_TRUE(started) << started.error().message;
}

Task<Exec::Collected> run_script(LiveSandbox& sandbox, std::string code, ExecSpec spec) {
  auto files = sandbox.files();
  auto written = co_await files.write("/workspace/main.py", std::move(code));
  EXPECT_TRUE(written) << written.error().message;
  spec.argv.insert(spec.argv.begin(), "main.py");
  spec.zygote = "python";
  auto ran = co_await run_program(sandbox, std::move(spec));
  co_return ran;
}

Task<Exec::Collected> run_script(LiveSandbox& sandbox, std::string code) {
  return run_script(sandbox, std::move(code), ExecSpec());
}

}  // namespace

CONFORMANCE(ZygoteRun_BehavesAsPlainPythonDoes) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> imports(1, "json");
    co_await start_python(sandbox, std::move(imports));
    const std::string code =
        "import os, sys\n"
        "print(__name__, os.path.basename(__file__), sys.argv, sys.path[0], os.getcwd())\n"
        "print(os.getuid(), os.getgid(), os.environ.get('X'), sorted(k for k in os.environ))\n"
        "print('to stderr', file=sys.stderr)\n"
        "print(sys.stdin.read())\n"
        "def f(): raise ValueError('on purpose')\n"
        "import atexit\n"
        "atexit.register(lambda: print('at exit'))\n"
        "f()\n";
    ExecSpec spec;
    spec.argv = {"one", "two"};
    spec.env = {{"X", "y"}};
    spec.stdin_mode = Stdin::bytes;
    spec.input = "input";
    ExecSpec plain = spec;
    const auto forked = co_await run_script(sandbox, code, std::move(spec));
    plain.argv = {"python3", "main.py", "one", "two"};
    const auto executed = co_await run_program(sandbox, std::move(plain));
    EXPECT_EQ(forked.out, executed.out);
    EXPECT_EQ(forked.err, executed.err);
    EXPECT_EQ(forked.outcome.exit_code, executed.outcome.exit_code);
    EXPECT_THAT(forked.err, HasSubstr("ValueError: on purpose"));
  });
}

CONFORMANCE(ZygoteRunsThatEndInEachWay_TellTheSameAsPlainPython) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await start_python(sandbox);
    for (const char* code : endings) {
      const auto forked = co_await run_script(sandbox, code);
      const auto executed = co_await run_words(sandbox, "python3", "main.py");
      EXPECT_EQ(forked.out, executed.out) << code;
      EXPECT_EQ(forked.err, executed.err) << code;
      EXPECT_EQ(forked.outcome.ending, executed.outcome.ending) << code;
      EXPECT_EQ(forked.outcome.exit_code, executed.outcome.exit_code) << code;
    }
  });
}

CONFORMANCE(ZygoteRun_CannotReachTheNextOne) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> imports(1, "json");
    co_await start_python(sandbox, std::move(imports));
    ExecSpec spec;
    spec.env = {{"SECRET", "correct-horse-battery"}};
    (void)co_await run_script(
        sandbox, "import json, builtins, sys\njson.planted = builtins.planted = 1\nsys.modules['planted'] = json\n",
        std::move(spec));
    const auto ran =
        co_await run_script(sandbox,
                            "import json, builtins, sys, re\n"
                            "print(hasattr(json, 'planted'), hasattr(builtins, 'planted'), 'planted' in sys.modules)\n"
                            "needle = 'correct-horse-' + 'battery'\n"
                            "hits = 0\n"
                            "mem = open('/proc/self/mem', 'rb', 0)\n"
                            "for line in open('/proc/self/maps'):\n"
                            "    if 'heap' not in line and 'rw-p' not in line: continue\n"
                            "    a, b = (int(x, 16) for x in line.split()[0].split('-'))\n"
                            "    try:\n"
                            "        mem.seek(a); hits += mem.read(b - a).count(needle.encode()[::-1][::-1])\n"
                            "    except (OSError, ValueError, OverflowError): pass\n"
                            "print('searched')\n"
                            "print('SECRET' in __import__('os').environ)\n");
    EXPECT_EQ(ran.out, "False False False\nsearched\nFalse\n") << ran.err;
  });
}

CONFORMANCE(ZygoteRunThatSleeps_IsAtItsWallLimitAndItsTreeEnds) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await start_python(sandbox);
    ExecSpec spec;
    spec.wall_limit = 500ms;
    const auto ran = co_await run_script(sandbox,
                                         "import os, time\n"
                                         "if os.fork() == 0:\n"
                                         "    os.setsid()\n"
                                         "    if os.fork() == 0: os.execvp('sleep', ['sleep', '100'])\n"
                                         "    os._exit(0)\n"
                                         "print('on', flush=True)\n"
                                         "time.sleep(100)\n",
                                         std::move(spec));
    EXPECT_EQ(ran.outcome.ending, Ending::wall_limit);
    EXPECT_EQ(ran.out, "on\n");
    const auto left = co_await run_shell(sandbox, "cat /proc/[0-9]*/comm | grep -c '^sleep$'");
    EXPECT_EQ(left.out, "0\n");
  });
}

CONFORMANCE(ZygoteAfterReset_StillServes) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await start_python(sandbox);
    for (int i = 0; i < 3; ++i) {
      const auto ran = co_await run_script(sandbox, "print(40 + 2)");
      EXPECT_EQ(ran.out, "42\n") << ran.err;
      const auto reset = co_await sandbox.reset(Deadline::after(60s));
      EXPECT_TRUE(reset) << reset.error().message;
    }
  });
}

CONFORMANCE(ZygoteWithUnknownImport_SaysSo) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> imports(1, "no_such_module");
    auto started = co_await sandbox.start_zygote("python", "python3", std::move(imports), Deadline::after(60s));
    EXPECT_FALSE(started);
    ExecSpec spec;
    spec.argv = {"main.py"};
    spec.zygote = "python";
    auto ran = co_await sandbox.run(std::move(spec));
    EXPECT_FALSE(ran);
    if (!ran) {
      EXPECT_EQ(ran.error().code, ErrorCode::not_found);
    }
  });
}

}  // namespace cloche
