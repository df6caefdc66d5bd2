// Python from a zygote: the semantics of `python3 main.py` at the price of a fork.
#include "conformance/conformance.hpp"

namespace cloche {

namespace {

constexpr const char* endings[] = {
    "import sys; sys.exit(3)", "raise SystemExit('bye')", "print('unterminated", "import os; os._exit(9)",
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "import no_such_module",
    "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('daemon')",
    "import sys; sys.exit(256)", "import sys; sys.exit(-1)", "import sys; sys.exit(True)",
    "import atexit\natexit.register(print, 'first')\natexit.register(print, 'last')",
    // What is finalized when the interpreter ends, wherever the script has put it.
    "class D:\n  def __del__(self): print('global', D.__name__)\nd = D()",
    "class D:\n  def __del__(self): print('cycle')\nd = D()\nd.me = d\ndel d",
    "class D:\n  def __del__(self): print('elsewhere')\nimport builtins, sys\nbuiltins.d = D()\nsys.path.append(D())",
    "def g():\n  try: yield\n  finally: print('closed')\nx = g()\nnext(x)",
    "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'finalized')",
    "import ctypes\nctypes.CDLL(None).printf(b'from C\\n')",
    "import sys\nsys.stdout = open(2, 'w', closefd=False)\nprint('moved')", "import sys\nsys.stdout.close()",
    "import os\nif os.fork() == 0: print('child')\nelse:\n  os.wait()\n  print('parent')",
    "import sys, types\nm = types.ModuleType('mine')\nsys.modules['mine'] = m\ndel sys.modules['os']\nprint('torn')",
    "import gc, sys\ngc.disable()\nsys.modules.clear()",
    "import threading\nthreading._shutdown = None\nprint('spoilt')"};

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

CONFORMANCE(ZygoteRunThatLeavesFilesOpen_LosesNothingOfThem) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await start_python(sandbox);
    (void)co_await run_script(sandbox,
                              "import os\n"
                              "f = open('in_a_global', 'w')\n"
                              "f.write('1')\n"
                              "os.hidden = open('in_a_module', 'w')\n"
                              "os.hidden.write('2')\n"
                              "class Cycle: pass\n"
                              "c = Cycle()\n"
                              "c.me, c.file = c, open('in_a_cycle', 'w')\n"
                              "c.file.write('3')\n");
    const auto kept = co_await run_shell(sandbox, "cat in_a_global in_a_module in_a_cycle");
    EXPECT_EQ(kept.out, "123");
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

CONFORMANCE(ZygoteRunsAtOnce_AreEachOnesOwn) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    co_await start_python(sandbox);
    auto files = sandbox.files();
    const auto written = co_await files.write("/workspace/main.py", "import sys\nprint(sys.stdin.read())\n");
    EXPECT_TRUE(written) << written.error().message;
    std::vector<std::unique_ptr<Exec>> execs;
    for (int i = 0; i < 6; ++i) {
      ExecSpec spec;
      spec.argv = {"main.py"};
      spec.zygote = "python";
      spec.stdin_mode = Stdin::stream;
      auto started = co_await sandbox.start(std::move(spec), Deadline::after(60s));
      EXPECT_TRUE(started) << started.error().message;
      if (!started) co_return;
      execs.push_back(std::move(*started));
    }
    for (std::size_t i = 0; i < execs.size(); ++i) {
      const auto sent = co_await execs[i]->write_stdin(std::to_string(i), Deadline::after(60s));
      EXPECT_TRUE(sent);
      execs[i]->close_stdin();
    }
    for (std::size_t i = 0; i < execs.size(); ++i) {
      const auto ran = co_await execs[i]->collect(Deadline::after(60s));
      EXPECT_TRUE(ran) << ran.error().message;
      if (ran) {
        EXPECT_EQ(ran->out, std::to_string(i) + "\n") << ran->err;
      }
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
