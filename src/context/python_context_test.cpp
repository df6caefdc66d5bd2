// Cells in a sandbox of the fake backend.
#include "context/python_context.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "context/testing/context_fixture.hpp"
#include "core/async/task_group.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

CellRequest cell(std::string code) {
  CellRequest request;
  request.code = std::move(code);
  return request;
}

CellRequest short_cell(std::string code, std::chrono::milliseconds limit = 300ms) {
  CellRequest request = cell(std::move(code));
  request.wall_limit = limit;
  return request;
}

class PythonContextTest : public ContextFixture {
 protected:
  void with_python(std::function<Task<>(LiveSandbox&, PythonContext&)> body, PythonContextOptions options = {}) {
    options.grace = 700ms;
    in_sandbox([body, options](LiveSandbox& sandbox) -> Task<> {
      PythonContextOptions with = options;
      auto opened = co_await PythonContext::open(sandbox, std::move(with), Deadline::after(60s));
      EXPECT_TRUE(opened) << opened.error().message;
      if (!opened) co_return;
      co_await body(sandbox, **opened);
      co_await (*opened)->close();
    });
  }

  static Task<CellResult> run(PythonContext& python, CellRequest request) {
    OutputSink no_sink;
    auto ran = co_await python.execute(std::move(request), std::move(no_sink), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    co_return ran ? std::move(*ran) : CellResult{};
  }
  static Task<CellResult> run(PythonContext& python, std::string code) { return run(python, cell(std::move(code))); }
};

TEST_F(PythonContextTest, CellsInARow_FindWhatEarlierOnesLeft) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    const auto one = co_await run(python, "import math\nx = 20\ndef double(n): return n * 2");
    EXPECT_EQ(one.ending, ContextEnding::ok);
    EXPECT_FALSE(one.value);
    const auto two = co_await run(python, "print('so:')\ndouble(x + 1)");
    EXPECT_EQ(two.value, "42");
    EXPECT_EQ(two.out, "so:\n");
    EXPECT_EQ(two.state, ContextState::kept);
    EXPECT_GT(two.wall, 0us);
    const auto three = co_await run(python, "_ + 1, __name__, math.pi > 3");
    EXPECT_EQ(three.value, "(43, '__main__', True)");
    const auto quiet = co_await run(python, "x;");
    EXPECT_FALSE(quiet.value);
    const auto awaited = co_await run(python, "import asyncio\nawait asyncio.sleep(0, 'slept')");
    EXPECT_EQ(awaited.value, "'slept'");
    const auto huge = co_await run(python, "'x' * 1_000_000");
    EXPECT_TRUE(huge.value_cut);
    EXPECT_LT(huge.value->size(), 70'000u);
  });
}

TEST_F(PythonContextTest, PrintedOutput_ComesApartAsItIsPrintedAndNeverAsProtocol) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    std::vector<Output> pieces;
    RunResult printed;
    OutputSink sink = [&](const Output& piece) {
      pieces.push_back(piece);
      printed.add(piece);
    };
    CellRequest request = cell(
        "import os, sys, subprocess, time\n"
        "print('end 0123 {}\\0ready 7\\0')\n"
        "time.sleep(0.2)\n"
        "print('to stderr', file=sys.stderr)\n"
        "os.write(1, b'\\xff\\0raw\\n')\n"
        "subprocess.run(['sh', '-c', 'echo child; echo forged >&3; ls /proc/self/fd | wc -l; echo $CLOCHE_EVENT_FD'])\n"
        "print('no end', end='')\n");
    auto ran = co_await python.execute(std::move(request), std::move(sink));
    EXPECT_TRUE(ran) << ran.error().message;
    if (!ran) co_return;
    EXPECT_EQ(ran->ending, ContextEnding::ok);
    EXPECT_THAT(printed.out, HasSubstr(std::string("end 0123 {}\0ready 7\0\n", 21)));
    EXPECT_THAT(printed.out, HasSubstr(std::string("\xff\0raw\nchild\n", 12)));
    EXPECT_TRUE(printed.out.ends_with("\nno end")) << printed.out;
    EXPECT_TRUE(printed.err.starts_with("to stderr\n")) << printed.err;
    EXPECT_GE(pieces.size(), 3u);
    EXPECT_EQ(pieces.front().stream, Stream::out);
    EXPECT_THAT(pieces.front().bytes, Not(HasSubstr("raw"))) << "a piece is told when it is printed";
  });
}

TEST_F(PythonContextTest, MuchOutputAtTheEnd_IsAllTheCellsOwn) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    for (int i = 0; i < 5; ++i) {
      const auto ran = co_await run(python, "import sys\nprint('a' * 900_000); print('b' * 900_000, file=sys.stderr)");
      EXPECT_EQ(ran.out.size(), 900'001u);
      EXPECT_EQ(ran.err.size(), 900'001u);
      const auto next = co_await run(python, "1");
      EXPECT_EQ(next.out, "");
      EXPECT_EQ(next.late.count, 0u);
    }
  });
}

TEST_F(PythonContextTest, Exception_IsToldWithTheCellsFramesAndTheContextGoesOn) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    (void)co_await run(python, "def f(n):\n    return 1 / n");
    const auto raised = co_await run(python, "print('before')\nf(0)");
    EXPECT_EQ(raised.ending, ContextEnding::error);
    EXPECT_EQ(raised.out, "before\n");
    EXPECT_EQ(raised.err, "");
    EXPECT_EQ(raised.error->type, "ZeroDivisionError");
    EXPECT_EQ(raised.error->message, "division by zero");
    EXPECT_TRUE(raised.error->traceback.starts_with(
        "Traceback (most recent call last):\n  File \"<cell 2>\", line 2, in <module>\n    f(0)\n  File \"<cell 1>\""))
        << raised.error->traceback;
    EXPECT_THAT(raised.error->traceback, Not(HasSubstr("cloche")));
    const auto torn = co_await run(python, "print('unterminated");
    EXPECT_EQ(torn.error->type, "SyntaxError");
    const auto odd = co_await run(python, "class Odd(Exception):\n    def __str__(self): raise self\nraise Odd");
    EXPECT_EQ(odd.error->type, "Odd");
    const auto after = co_await run(python, "f(4)");
    EXPECT_EQ(after.value, "0.25");
  });
}

TEST_F(PythonContextTest, SysExit_EndsTheCellAndNotTheContext) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    const auto left = co_await run(python, "x = 1\nimport sys\nsys.exit(3)\nx = 2");
    EXPECT_EQ(left.ending, ContextEnding::error);
    EXPECT_EQ(left.exit_code, 3);
    EXPECT_FALSE(left.error);
    const auto said = co_await run(python, "raise SystemExit('bye')");
    EXPECT_EQ(said.err, "bye\n");
    EXPECT_EQ(said.exit_code, 1);
    const auto well = co_await run(python, "sys.exit()");
    EXPECT_EQ(well.ending, ContextEnding::ok);
    const auto after = co_await run(python, "x");
    EXPECT_EQ(after.value, "1");
  });
}

TEST_F(PythonContextTest, InterpreterThatEnds_IsLostAtOnceUntilRestart) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    const std::pair<const char*, const char*> cases[] = {
        {"print('last', flush=True); import os; os._exit(9)", "exited with code 9"},
        {"import ctypes; ctypes.string_at(0)", "signal 11"},
        {"import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9"},
        {"import os; os.closerange(3, 300)", "exited"},
        {"import os; os.write(101, b'rubbish\\0')\nwhile True: pass", "invalid record"},
    };
    for (const auto& [code, word] : cases) {
      const auto ended = co_await run(python, code);
      EXPECT_EQ(ended.ending, ContextEnding::lost) << code;
      EXPECT_EQ(ended.state, ContextState::lost);
      EXPECT_THAT(ended.reason, HasSubstr(word)) << code;
      EXPECT_LT(ended.wall, 30s) << code;
      EXPECT_FALSE(python.alive());
      const auto dead = co_await run(python, "print('not run')");
      EXPECT_EQ(dead.ending, ContextEnding::lost);
      EXPECT_THAT(dead.reason, HasSubstr(word)) << code;
      EXPECT_EQ(dead.out, "");
      auto restarted = co_await python.restart(Deadline::after(60s));
      EXPECT_TRUE(restarted) << restarted.error().message;
      const auto anew = co_await run(python, "'os' in globals()");
      EXPECT_EQ(anew.value, "False") << code;
    }
  });
}

TEST_F(PythonContextTest, Input_IsTheCallsOwnAndThenAtItsEnd) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    CellRequest request = cell("input(), input('? ')");
    request.input = "one\ntwo\nthree\n";
    const auto ran = co_await run(python, std::move(request));
    EXPECT_EQ(ran.value, "('one', 'two')");
    EXPECT_EQ(ran.out, "? ");
    const auto none = co_await run(python, "input()");
    EXPECT_EQ(none.error->type, "EOFError") << "what one cell did not read is not the next one's";
    CellRequest much = cell("import sys, subprocess\na = sys.stdin.readline()\nlen(sys.stdin.read())");
    much.input = "first\n" + std::string(3'000'000, 'x');
    const auto large = co_await run(python, std::move(much));
    EXPECT_EQ(large.value, "3000000");
    CellRequest child = cell("subprocess.run(['cat']).returncode");
    child.input = "for a program";
    const auto program = co_await run(python, std::move(child));
    EXPECT_EQ(program.out, "for a program");
  });
}

TEST_F(PythonContextTest, ForksAndClosedDescriptors_DoNotConfuse) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    const auto forked = co_await run(python,
                                     "import os, sys\npid = os.fork()\n"
                                     "if pid == 0: print('child')\nelse: os.waitpid(pid, 0); print('parent')\n'both'");
    EXPECT_EQ(forked.out, "child\nparent\n");
    EXPECT_EQ(forked.value, "'both'");
    const auto pool =
        co_await run(python,
                     "import multiprocessing\ndef square(n): return n * n\n"
                     "with multiprocessing.get_context('fork').Pool(2) as p: r = p.map(square, [1, 2])\nr");
    EXPECT_EQ(pool.value, "[1, 4]");
    (void)co_await run(python, "os.close(1); os.close(2); os.close(0)");
    const auto again = co_await run(python, "print('again'); print('err', file=sys.stderr)");
    EXPECT_EQ(again.out, "again\n");
    EXPECT_EQ(again.err, "err\n");
    (void)co_await run(python, "sys.stdout.close(); sys.stdin.close(); sys.stderr = None");
    const auto opened = co_await run(python, "print('and again'); print('err', file=sys.stderr)");
    EXPECT_EQ(opened.out, "and again\n");
    EXPECT_EQ(opened.err, "err\n");
  });
}

TEST_F(PythonContextTest, CellThatRunsTooLong_IsInterruptedAndItsStateKept) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    const char* cases[] = {
        "x = 1\nprint('on')\nwhile True: pass",
        "x = 1\nprint('on')\nimport time; time.sleep(100)",
        "x = 1\nprint('on')\nimport subprocess; subprocess.run(['sleep', '100'])",
        "x = 1\nprint('on')\nimport os; os.system('sleep 100'); time.sleep(100)",
        "x = 1\nprint('on')\nimport asyncio; await asyncio.sleep(100)",
        "x = 1\nprint('on')\nimport signal; signal.signal(signal.SIGINT, signal.default_int_handler)\nwhile True: pass",
    };
    for (const char* code : cases) {
      CellRequest request = short_cell(code);
      const auto slow = co_await run(python, std::move(request));
      EXPECT_EQ(slow.ending, ContextEnding::timeout) << code;
      EXPECT_EQ(slow.state, ContextState::kept) << code << slow.reason;
      EXPECT_EQ(slow.out, "on\n");
      EXPECT_TRUE(slow.error && slow.error->type == "KeyboardInterrupt") << code;
      const auto after = co_await run(python, "import time\ntime.sleep(0.05)\nx");
      EXPECT_EQ(after.value, "1") << code;
      EXPECT_EQ(after.out, "");
    }
  });
}

TEST_F(PythonContextTest, CellThatDoesNotHeedItsInterrupt_CostsTheContextItsState) {
  with_python([](LiveSandbox& sandbox, PythonContext& python) -> Task<> {
    CellRequest request = short_cell(
        "import signal, os, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "if os.fork() == 0: os.setsid()\nprint(os.getpid())\nwhile True: time.sleep(100)");
    const auto begun = std::chrono::steady_clock::now();
    const auto stubborn = co_await run(python, std::move(request));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
    EXPECT_EQ(stubborn.ending, ContextEnding::timeout);
    EXPECT_EQ(stubborn.state, ContextState::lost);
    EXPECT_THAT(stubborn.reason, HasSubstr("the interpreter was stopped"));
    const auto dead = co_await run(python, "1");
    EXPECT_EQ(dead.ending, ContextEnding::lost);
    ExecSpec look = ExecSpec::shell("cat /proc/[0-9]*/comm | grep -c python");
    auto left = co_await sandbox.run(std::move(look));
    EXPECT_TRUE(left && left->out == "0\n");
  });
}

TEST_F(PythonContextTest, OutputOfAThreadBetweenCells_IsDroppedAndSaid) {
  with_python([](LiveSandbox& sandbox, PythonContext& python) -> Task<> {
    (void)co_await run(python,
                       "import threading, time\ngo, done = threading.Event(), threading.Event()\n"
                       "def late():\n  go.wait(); print('late'); open('/tmp/printed', 'w').close()\n"
                       "t = threading.Thread(target=late); t.start()\nthreading.Timer(0.1, go.set).start()");
    ExecSpec wait = ExecSpec::shell("until [ -e /tmp/printed ]; do sleep 0.02; done");
    auto waited = co_await sandbox.run(std::move(wait), Deadline::after(30s));
    EXPECT_TRUE(waited) << waited.error().message;
    const auto next = co_await run(python, "print('mine')");
    EXPECT_EQ(next.out, "mine\n");
    EXPECT_EQ(next.late.count, 5u);
    // Endless output does not block other work.
    (void)co_await run(python,
                       "def flood():\n  while on: print('x' * 1000)\non = True\n"
                       "f = threading.Thread(target=flood); f.start()");
    CellRequest stop = cell("on = False\nf.join()\n'stopped'");
    const auto stopped = co_await run(python, std::move(stop));
    EXPECT_EQ(stopped.value, "'stopped'");
  });
}

TEST_F(PythonContextTest, OutputOverItsCaps_IsCutAndThenEndsTheCell) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    CellRequest request = cell("x = 1\nprint('y' * 5000)");
    request.caps.keep_output = Bytes{100};
    const auto cut = co_await run(python, std::move(request));
    EXPECT_EQ(cut.ending, ContextEnding::ok);
    EXPECT_EQ(cut.out.size(), 100u);
    EXPECT_EQ(cut.out_totals.dropped.count, 4901u);
    EXPECT_TRUE(cut.truncated());
    CellRequest endless = cell("while True: print('z' * 1000)");
    endless.caps.stop_output = mib(2);
    const auto ended = co_await run(python, std::move(endless));
    EXPECT_EQ(ended.ending, ContextEnding::output_limit);
    EXPECT_EQ(ended.state, ContextState::kept);
    EXPECT_LE(ended.out.size(), mib(1).count);
    const auto after = co_await run(python, "x");
    EXPECT_EQ(after.value, "1");
    EXPECT_EQ(after.out, "");
  });
}

TEST_F(PythonContextTest, CallsBesideEachOther_GoInOrderAndWaitNoLongerThanTheyMay) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    using asio::experimental::awaitable_operators::operator&&;
    std::vector<int> order;
    const auto numbered = [&](int n, std::string code) -> Task<> {
      const auto ran = co_await run(python, std::move(code));
      EXPECT_EQ(ran.ending, ContextEnding::ok);
      order.push_back(n);
    };
    const auto impatient = [&]() -> Task<> {
      CellRequest request = cell("x.append('never')");
      OutputSink no_sink;
      auto ran = co_await python.execute(std::move(request), std::move(no_sink), Deadline::after(100ms));
      EXPECT_FALSE(ran);
      if (!ran) {
        EXPECT_EQ(ran.error().code, ErrorCode::timeout);
      }
      order.push_back(0);
    };
    co_await (numbered(1, "import time; x = []; time.sleep(0.5); x.append(1)") && impatient() &&
              numbered(2, "x.append(2)") && numbered(3, "x.append(3)"));
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
    const auto all = co_await run(python, "x");
    EXPECT_EQ(all.value, "[1, 2, 3]");
  });
}

TEST_F(PythonContextTest, CallerThatGoesAway_LeavesTheContextUsable) {
  with_python([](LiveSandbox&, PythonContext& python) -> Task<> {
    const auto executor = co_await asio::this_coro::executor;
    for (const char* code :
         {"x = 1\nprint('on')\nwhile True: pass", "x = 1\nprint('on')\nimport time; time.sleep(100)"}) {
      Event printed(executor);
      bool on = false;
      TaskGroup callers(executor);
      callers.spawn("caller", [&]() -> Task<> {
        CellRequest request = cell(code);
        OutputSink listener = [&](const Output&) {
          on = true;
          printed.notify();
        };
        (void)co_await python.execute(std::move(request), std::move(listener));
      });
      while (!on) co_await printed.wait();
      co_await callers.shut_down();
      const auto after = co_await run(python, "print(x)\nx");
      EXPECT_EQ(after.ending, ContextEnding::ok);
      EXPECT_EQ(after.out, "1\n");
    }
    // A deadline of the caller's own does the same.
    CellRequest request = cell("x = 2\nwhile True: pass");
    OutputSink no_sink;
    auto late = co_await python.execute(std::move(request), std::move(no_sink), Deadline::after(2s));
    EXPECT_FALSE(late);
    const auto after = co_await run(python, "x");
    EXPECT_EQ(after.value, "2");
  });
}

constexpr const char* stub_pyplot =
    "_open, _next = {}, [1]\n"
    "class Figure:\n"
    "    def __init__(self, n): self.n, self.text = n, []\n"
    "    def savefig(self, file, **options):\n"
    "        if 'bad' in self.text: raise ValueError('cannot be drawn')\n"
    "        file.write(b'\\x89PNG' + ' '.join(self.text).encode())\n"
    "def figure(n=None):\n"
    "    if n is None: n = _next[0]; _next[0] += 1\n"
    "    return _open.setdefault(n, Figure(n))\n"
    "def plot(word): (list(_open.values()) or [figure()])[-1].text.append(word)\n"
    "def get_fignums(): return sorted(_open)\n"
    "def close(which): _open.clear()\n"
    "def show(): raise RuntimeError('no screen')\n";

TEST_F(PythonContextTest, Figures_AreSavedByShowAndAtTheCellsEnd) {
  with_python([](LiveSandbox& sandbox, PythonContext& python) -> Task<> {
    const auto none = co_await run(python, "import sys\n'matplotlib' in sys.modules");
    EXPECT_EQ(none.value, "False") << "it is not imported unasked";
    auto files = sandbox.files();
    (void)co_await run(python, "import os; os.mkdir('matplotlib'); open('matplotlib/__init__.py', 'w').close()");
    auto written = co_await files.write("/workspace/matplotlib/pyplot.py", stub_pyplot);
    EXPECT_TRUE(written) << written.error().message;
    const auto shown = co_await run(python,
                                    "from matplotlib.pyplot import show\nimport matplotlib.pyplot as plt\n"
                                    "plt.plot('one'); show()\nplt.plot('two'); plt.figure(); plt.plot('three')\n"
                                    "os.environ['MPLBACKEND']");
    EXPECT_EQ(shown.value, "'Agg'") << (shown.error ? shown.error->traceback : "");
    EXPECT_EQ(shown.figures.size(), 3u);
    std::vector<std::string> drawn;
    for (const auto& path : shown.figures) {
      EXPECT_TRUE(path.starts_with("/workspace/figures/")) << path;
      const FileRange whole;
      auto read = co_await files.read(path, whole, kib(1));
      EXPECT_TRUE(read) << read.error().message;
      if (read) drawn.push_back(read->bytes);
    }
    EXPECT_THAT(drawn, ElementsAre("\x89PNGone", "\x89PNGtwo", "\x89PNGthree"));
    const auto later = co_await run(python, "1");
    EXPECT_THAT(later.figures, IsEmpty());
    const auto raised = co_await run(python, "plt.plot('four')\n1 / 0");
    EXPECT_EQ(raised.figures.size(), 1u);
    EXPECT_EQ(raised.error->type, "ZeroDivisionError");
    const auto bad = co_await run(python, "plt.plot('bad')");
    EXPECT_EQ(bad.figures_left_out, 1u);
    EXPECT_THAT(bad.err, HasSubstr("cannot be drawn"));
    const auto many = co_await run(python, "for i in range(30): plt.figure()");
    EXPECT_EQ(many.figures.size(), most_figures);
    EXPECT_EQ(many.figures_left_out, 10u);
    EXPECT_EQ(many.err, "figures that were not saved: 10\n");
  });
}

TEST_F(PythonContextTest, ContextFromAZygote_StartsWithItsModulesImported) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    std::vector<std::string> imports(1, "base64");
    auto prepared =
        co_await PythonContext::prepare(sandbox, "cells", "python3", std::move(imports), Deadline::after(60s));
    EXPECT_TRUE(prepared) << prepared.error().message;
    PythonContextOptions options;
    options.zygote = "cells";
    PythonContextOptions again = options;
    options.env["COLOUR"] = "green";
    auto one = co_await PythonContext::open(sandbox, std::move(options), Deadline::after(60s));
    auto two = co_await PythonContext::open(sandbox, std::move(again), Deadline::after(60s));
    EXPECT_TRUE(one && two);
    if (!one || !two) co_return;
    const auto ran =
        co_await run(**one, "import sys, os\nx = 1\n'base64' in sys.modules, os.environ['COLOUR'], os.getuid() > 0");
    EXPECT_EQ(ran.value, "(True, 'green', True)");
    const auto other = co_await run(**two, "'x' in globals()");
    EXPECT_EQ(other.value, "False");
    CellRequest request = short_cell("while True: pass");
    const auto slow = co_await run(**one, std::move(request));
    EXPECT_EQ(slow.ending, ContextEnding::timeout);
    EXPECT_EQ(slow.state, ContextState::kept);
    const auto raised = co_await run(**one, "x / 0");
    EXPECT_THAT(raised.error->traceback, Not(HasSubstr("cloche")));
    PythonContextOptions unknown;
    unknown.zygote = "unknown";
    auto none = co_await PythonContext::open(sandbox, std::move(unknown), Deadline::after(60s));
    EXPECT_FALSE(none);
    if (!none) {
      EXPECT_EQ(none.error().code, ErrorCode::not_found);
    }
    co_await (*one)->close();
    co_await (*two)->close();
  });
}

TEST_F(PythonContextTest, ClosedContextAndLostSandbox_AreErrors) {
  in_sandbox([](LiveSandbox& sandbox) -> Task<> {
    PythonContextOptions options;
    PythonContextOptions nowhere;
    PythonContextOptions outside;
    auto opened = co_await PythonContext::open(sandbox, std::move(options), Deadline::after(60s));
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) co_return;
    co_await (*opened)->close();
    EXPECT_FALSE((*opened)->alive());
    CellRequest request = cell("1");
    OutputSink no_sink;
    auto closed = co_await (*opened)->execute(std::move(request), std::move(no_sink));
    EXPECT_FALSE(closed);
    nowhere.interpreter = "no-such-python";
    auto none = co_await PythonContext::open(sandbox, std::move(nowhere), Deadline::after(60s));
    EXPECT_FALSE(none);
    if (!none) {
      EXPECT_EQ(none.error().code, ErrorCode::not_found) << none.error().message;
    }
    outside.figures = "../elsewhere";
    auto refused = co_await PythonContext::open(sandbox, std::move(outside), Deadline::after(60s));
    EXPECT_FALSE(refused);
    PythonContextOptions last;
    auto living = co_await PythonContext::open(sandbox, std::move(last), Deadline::after(60s));
    EXPECT_TRUE(living);
    if (!living) co_return;
    sandbox.cut_off({ErrorCode::sandbox_lost, "cut by the test"});
    CellRequest more = cell("1");
    OutputSink still_no_sink;
    auto lost = co_await (*living)->execute(std::move(more), std::move(still_no_sink));
    EXPECT_FALSE(lost);
    if (!lost) {
      EXPECT_EQ(lost.error().code, ErrorCode::sandbox_lost);
    }
  });
}

}  // namespace
}  // namespace cloche
