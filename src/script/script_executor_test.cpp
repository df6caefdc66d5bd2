// Scripts in a sandbox of the fake backend: the real agent, the real harness, no walls.
#include "script/script_executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>

#include "support/missing.hpp"
#include "support/target.hpp"
#include "support/with_sandbox.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing_support::Target;

struct Told {
  std::vector<ScriptEvent> events;
  ScriptResult result;

  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const auto& event : events) all.push_back(to_json(event));
    return all;
  }
};

ScriptRequest plan(std::string source) {
  ScriptRequest request;
  request.source = std::move(source);
  return request;
}

ScriptRequest interactive(std::string source) {
  ScriptRequest request = plan(std::move(source));
  request.mode = ScriptMode::interactive;
  return request;
}

class ScriptExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    const Target target{"fake", ""};
    if (const auto lack = testing_support::lack_of(target)) CLOCHE_CANNOT_TEST(lack->thing, lack->why);
    InstanceId instance;
    instance.value = "test-scripts";
    auto made = testing_support::make_backend(target, io_.get_executor(), threads_, scratch_, instance);
    ASSERT_TRUE(made) << made.error().message;
    backend_ = std::move(*made);
  }

  void in_sandbox(std::function<Task<>(LiveSandbox&)> body) {
    std::exception_ptr thrown;
    asio::co_spawn(
        io_, [&]() -> Task<> { co_await run_in_sandbox(body); }, [&](std::exception_ptr error) { thrown = error; });
    io_.run();
    if (thrown) std::rethrow_exception(thrown);
  }
  // The same with the harness prepared.
  void with_harness(std::function<Task<>(LiveSandbox&)> body) {
    in_sandbox([this, body](LiveSandbox& sandbox) -> Task<> {
      ScriptHarness options;
      options.imports.emplace_back("base64");
      auto prepared = co_await executor_.prepare(sandbox, std::move(options), Deadline::after(60s));
      EXPECT_TRUE(prepared) << prepared.error().message;
      if (prepared) co_await body(sandbox);
    });
  }

  Task<Told> tell(LiveSandbox& sandbox, ScriptRequest request) {
    Told told;
    ScriptListener sink = [&told](const ScriptEvent& event) { told.events.push_back(event); };
    auto ran = co_await executor_.run(sandbox, std::move(request), std::move(sink), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    if (ran) told.result = std::move(*ran);
    co_return told;
  }

  asio::io_context io_{1};
  asio::thread_pool threads_{1};
  testing_support::Scratch scratch_;
  std::unique_ptr<Backend> backend_;
  ScriptExecutor executor_;

 private:
  Task<> run_in_sandbox(const std::function<Task<>(LiveSandbox&)>& body) {
    SandboxSpec spec = testing_support::spec_for(Target{"fake", ""});
    co_await testing_support::with_sandbox(*backend_, std::move(spec), body);
  }
};

TEST_F(ScriptExecutorTest, Plan_TellsItsEventsInOrderAndEndsAtItsResult) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = plan(
        "log('begin', 'debug')\n"
        "intermediate('rows', [inputs['n'], None, 'ü\\n'])\n"
        "final_result({'sum': inputs['n'] + 0.1, 'mode': mode})\n"
        "import os; os.mkdir('not-reached')\n");
    request.inputs = "{\"n\": 41}";
    const auto told = co_await tell(sandbox, std::move(request));
    EXPECT_THAT(told.lines(), ElementsAre(R"({"type":"ready"})",
                                          R"({"type":"log","source":"script","level":"debug","message":"begin"})",
                                          R"({"type":"intermediate","label":"rows","data":[41,null,"ü\n"]})",
                                          R"({"type":"final_result","data":{"sum":41.1,"mode":"plan"}})"));
    EXPECT_EQ(told.result.ending, ScriptEnding::final_result);
    EXPECT_EQ(told.result.final_result, R"({"sum":41.1,"mode":"plan"})");
    auto files = sandbox.files();
    auto left = co_await files.stat("/workspace/not-reached");
    EXPECT_FALSE(left) << "the rest of a plan was run";
  });
}

TEST_F(ScriptExecutorTest, InteractiveScript_GoesOnAfterItsResultAndIsDoneAtItsEnd) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = interactive("final_result(1)\nintermediate('more')\nfinal_result(2)\nraise SystemExit(4)");
    const auto told = co_await tell(sandbox, std::move(request));
    EXPECT_THAT(told.lines(),
                ElementsAre(R"({"type":"ready"})", R"({"type":"final_result","data":1})",
                            R"({"type":"intermediate","label":"more","data":null})",
                            R"({"type":"final_result","data":2})", R"({"type":"script_done","exit_code":4})"));
    EXPECT_EQ(told.result.ending, ScriptEnding::script_done);
    EXPECT_EQ(told.result.final_result, "2");
    EXPECT_EQ(told.result.outcome.exit_code, 4);
  });
}

TEST_F(ScriptExecutorTest, PrintedText_IsALogEvenWhereItLooksLikeAnEvent) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = plan(
        "import os, subprocess, sys\n"
        "print('{\"type\":\"final_result\",\"data\":1}')\n"
        "os.write(1, b'{\"type\":\"final_result\",\"data\":2}\\n\\xff\\n')\n"
        "print('to stderr', file=sys.stderr)\n"
        "subprocess.run(['sh', '-c', 'echo from a child; echo forged >&3'])\n"
        "print('no end', end='')\n");
    const auto told = co_await tell(sandbox, std::move(request));
    EXPECT_EQ(told.result.ending, ScriptEnding::script_done);
    EXPECT_FALSE(told.result.final_result);
    std::vector<std::string> out;
    std::string err;
    for (const auto& log : told.result.logs) {
      if (log.source == LogEvent::Source::out) out.push_back(log.message);
      if (log.source == LogEvent::Source::err) err += log.message + "\n";
    }
    EXPECT_THAT(out, ElementsAre(R"({"type":"final_result","data":1})", R"({"type":"final_result","data":2})",
                                 "\xef\xbf\xbd", "from a child", "no end"));
    EXPECT_THAT(err, HasSubstr("to stderr\n"));
    EXPECT_THAT(err, HasSubstr("3")) << "the shell has no descriptor 3";
    EXPECT_FALSE(told.result.error);
  });
}

TEST_F(ScriptExecutorTest, UncaughtException_IsAnErrorWithTheScriptsFramesAlone) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = plan("def f(n):\n    return 1 / n\nprint('before')\nf(0)\n");
    request.name = "tool.py";
    const auto told = co_await tell(sandbox, std::move(request));
    EXPECT_EQ(told.result.ending, ScriptEnding::error);
    EXPECT_EQ(told.result.error->fault, ScriptFault::exception);
    EXPECT_EQ(told.result.error->message, "ZeroDivisionError: division by zero");
    const auto& trace = told.result.error->traceback;
    EXPECT_TRUE(trace.starts_with("Traceback (most recent call last):\n  File \"tool.py\", line 4")) << trace;
    EXPECT_THAT(trace, HasSubstr("return 1 / n"));
    EXPECT_THAT(trace, Not(HasSubstr("cloche")));
    EXPECT_THAT(trace, Not(HasSubstr("<string>")));
    EXPECT_TRUE(std::holds_alternative<ErrorEvent>(told.events.back()));
    EXPECT_EQ(told.result.logs.size(), 1u);
    ScriptRequest again = interactive("raise ValueError(1) from KeyError(2)");
    const auto both = co_await tell(sandbox, std::move(again));
    EXPECT_THAT(both.result.error->traceback, HasSubstr("KeyError: 2"));
    EXPECT_EQ(both.lines().back(), R"({"type":"script_done","exit_code":1})");
    ScriptRequest torn = plan("print('unterminated");
    const auto syntax = co_await tell(sandbox, std::move(torn));
    EXPECT_THAT(syntax.result.error->message, HasSubstr("SyntaxError"));
  });
}

TEST_F(ScriptExecutorTest, DataThatIsNoJson_IsAnErrorThatSaysSo) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    const std::pair<const char*, const char*> cases[] = {
        {"final_result(object())", "object"},
        {"final_result(float('nan'))", "JSON"},
        {"final_result({(1, 2): 3})", "JSON"},
        {"a = []; a.append(a); final_result(a)", "ircular"},
        {"a = []\nfor _ in range(200): a = [a]\nfinal_result(a)", "deeper than 63"},
        {"a = []\nfor _ in range(100000): a = [a]\nfinal_result(a)", "JSON"},
        {"final_result('x' * 2_000_000)", "1048576"},
        {"final_result(b'bytes')", "bytes"},
    };
    for (const auto& [source, word] : cases) {
      ScriptRequest request = plan(source);
      const auto told = co_await tell(sandbox, std::move(request));
      EXPECT_EQ(told.result.ending, ScriptEnding::error) << source;
      if (!told.result.error) continue;
      EXPECT_EQ(told.result.error->fault, ScriptFault::data) << source;
      EXPECT_THAT(told.result.error->message, HasSubstr(word)) << source;
      EXPECT_THAT(told.result.error->traceback, HasSubstr("script.py")) << source;
    }
  });
}

TEST_F(ScriptExecutorTest, OddButSendableData_ArrivesAndFramesStayWhole) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = interactive(
        "final_result('half \\ud800 pair \\ud83d\\ude00 line\\u2028\\r\\n\\x00')\n"
        "a = 0\nfor _ in range(62): a = [a]\nfinal_result(['[' * 500, a])\n"
        "final_result(10 ** 40)\n"
        "intermediate('x' * 10_000, 0)\nlog('y' * 100_000)\nlog(3)\n"
        "final_result('z' * 1_000_000)\n");
    const auto told = co_await tell(sandbox, std::move(request));
    EXPECT_EQ(told.result.ending, ScriptEnding::script_done);
    if (told.events.size() != 9) {
      ADD_FAILURE() << told.events.size() << " events";
      co_return;
    }
    EXPECT_EQ(std::get<FinalResultEvent>(told.events[1]).data,
              "\"half \xef\xbf\xbd pair \xf0\x9f\x98\x80 line\xe2\x80\xa8\\r\\n\\u0000\"");
    EXPECT_EQ(std::get<FinalResultEvent>(told.events[3]).data, "1" + std::string(40, '0'));
    EXPECT_LT(std::get<IntermediateEvent>(told.events[4]).label.size(), 300u);
    EXPECT_EQ(told.result.final_result->size(), 1'000'002u);
  });
}

TEST_F(ScriptExecutorTest, RubbishOnTheEventDescriptor_HarmsOnlyTheScriptItself) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest forged =
        plan("import os; os.write(3, b'{\"type\":\"script_done\",\"exit_code\":0}\\n')\nwhile True: pass");
    const auto one = co_await tell(sandbox, std::move(forged));
    EXPECT_EQ(one.result.ending, ScriptEnding::error);
    EXPECT_EQ(one.result.error->fault, ScriptFault::protocol);
    EXPECT_LT(one.result.outcome.wall, 30s);
    ScriptRequest flood = interactive("import os\nwhile True: os.write(3, b'\\x00rubbish\\n' * 1000)");
    const auto two = co_await tell(sandbox, std::move(flood));
    EXPECT_EQ(two.result.ending, ScriptEnding::output_limit);
    EXPECT_LE(two.events.size(), 1100u);
    ScriptRequest endless = interactive("import os\nwhile True: os.write(3, b'x' * 65536)");
    const auto three = co_await tell(sandbox, std::move(endless));
    EXPECT_EQ(three.result.ending, ScriptEnding::output_limit);
    ScriptRequest closed = plan("import os; os.close(3); raise ValueError('unheard')");
    const auto four = co_await tell(sandbox, std::move(closed));
    EXPECT_EQ(four.result.ending, ScriptEnding::script_done);
    EXPECT_EQ(four.result.outcome.exit_code, 1);
    EXPECT_THAT(four.result.logs.back().message, HasSubstr("unheard"));
    ScriptRequest next = plan("final_result('well')");
    const auto after = co_await tell(sandbox, std::move(next));
    EXPECT_EQ(after.result.final_result, "\"well\"");
  });
}

TEST_F(ScriptExecutorTest, ScriptsThatEndInEachWay_AreToldApartPromptly) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    const std::tuple<const char*, ScriptEnding, int> cases[] = {
        {"", ScriptEnding::script_done, 0},
        {"import os; os._exit(9)", ScriptEnding::script_done, 9},
        {"import sys; sys.exit('bye')", ScriptEnding::script_done, 1},
        {"import os, signal; os.kill(os.getpid(), signal.SIGKILL)", ScriptEnding::crashed, 137},
        {"import ctypes; ctypes.string_at(0)", ScriptEnding::crashed, 139},
        {"raise KeyboardInterrupt", ScriptEnding::error, 1},
    };
    for (const auto& [source, ending, exit_code] : cases) {
      ScriptRequest request = interactive(source);
      const auto told = co_await tell(sandbox, std::move(request));
      EXPECT_EQ(told.result.ending, ending) << source;
      EXPECT_EQ(told.result.outcome.exit_code, exit_code) << source;
      EXPECT_LT(told.result.outcome.wall, 30s) << source;
    }
  });
}

TEST_F(ScriptExecutorTest, ScriptThatDisarmsEveryAlarm_StillMeetsItsDeadline) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = plan(
        "import os, signal, time\n"
        "signal.alarm(0); signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "for n in range(1, 32):\n"
        "    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except OSError: pass\n"
        "child = os.fork()\n"
        "if child == 0: os.setsid()\n"
        "else: print(child)\n"
        "while True: time.sleep(100)\n");
    request.wall_limit = 700ms;
    const auto told = co_await tell(sandbox, std::move(request));
    EXPECT_EQ(told.result.ending, ScriptEnding::timeout);
    EXPECT_LT(told.result.outcome.wall, 30s);
    EXPECT_EQ(std::get<ErrorEvent>(told.events.back()).fault, ScriptFault::timeout);
    if (told.result.logs.size() != 1) {
      ADD_FAILURE() << told.result.logs.size() << " logs";
      co_return;
    }
    ExecSpec look = ExecSpec::shell("ls -d /proc/" + told.result.logs[0].message + " 2>/dev/null | wc -l");
    auto left = co_await sandbox.run(std::move(look));
    EXPECT_TRUE(left && left->out == "0\n") << "a process of the script is left";
  });
}

TEST_F(ScriptExecutorTest, ScriptThatPrintsWithoutEnd_IsEndedAndItsLogsAreBounded) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = plan("while True: print('x' * 50)");
    request.caps.stop_output = mib(2);
    const auto told = co_await tell(sandbox, std::move(request));
    EXPECT_EQ(told.result.ending, ScriptEnding::output_limit);
    std::size_t bytes = 0;
    for (const auto& log : told.result.logs) bytes += log.message.size();
    EXPECT_LE(bytes, kib(300).count);
    EXPECT_LE(told.events.size(), 5'010u);
    EXPECT_GT(told.result.outcome.out.dropped.count, 0u);
  });
}

TEST_F(ScriptExecutorTest, Script_ReachesNeitherTheHarnessNorTheNextScript) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest first = plan(
        "import base64, builtins, json, os, sys\n"
        "base64.planted = builtins.planted = json.dumps = 1\n"
        "sys.modules['planted'] = base64\n"
        "final = {'uid': os.getuid(), 'parent': os.getppid()}\n"
        "killed = []\n"
        "for pid in range(1, 300):\n"
        "    if pid != os.getpid():\n"
        "        try: os.kill(pid, 9); killed.append(pid)\n"
        "        except OSError: pass\n"
        "intermediate('killed', killed)\n"
        "final_result(os.environ.get('TOKEN'))\n");
    first.env = {{"TOKEN", "one-only"}};
    const auto one = co_await tell(sandbox, std::move(first));
    EXPECT_THAT(one.lines(), testing::Contains(R"({"type":"intermediate","label":"killed","data":[]})"));
    EXPECT_EQ(one.result.final_result, "\"one-only\"");
    ScriptRequest second = plan(
        "import base64, builtins, os, sys\n"
        "final_result([hasattr(base64, 'planted'), hasattr(builtins, 'planted'), 'planted' in sys.modules,\n"
        "  os.environ.get('TOKEN'), os.environ.get('CLOCHE_EVENT_FD'), sys.stdin.read(), "
        "sorted(os.listdir('/proc/self/fd'))[:4],\n"
        "  os.getuid()])\n");
    const auto two = co_await tell(sandbox, std::move(second));
    EXPECT_EQ(two.result.final_result, R"([false,false,false,null,null,"",["0","1","2","3"],1000])");
  });
}

TEST_F(ScriptExecutorTest, HarnessAfterReset_StillServes) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    for (int i = 0; i < 3; ++i) {
      ScriptRequest request = plan("open('mark', 'x').close(); final_result(6 * 7)");
      const auto told = co_await tell(sandbox, std::move(request));
      EXPECT_EQ(told.result.final_result, "42");
      auto reset = co_await sandbox.reset(Deadline::after(60s));
      EXPECT_TRUE(reset) << reset.error().message;
    }
  });
}

TEST_F(ScriptExecutorTest, VariablesThatPythonReadsAtItsStart_GetAnInterpreterOfTheirOwn) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = plan(
        "import cloche_script, os, sys; cloche_script.final_result([sys.flags.hash_randomization, "
        "os.environ['PYTHONHASHSEED']])");
    request.env = {{"PYTHONHASHSEED", "7"}};
    const auto told = co_await tell(sandbox, std::move(request));
    EXPECT_EQ(told.result.final_result, R"([1,"7"])");
    ScriptRequest raises = plan("1 / 0");
    raises.env = {{"PYTHONHASHSEED", "7"}};
    const auto raised = co_await tell(sandbox, std::move(raises));
    EXPECT_THAT(raised.result.error->traceback, Not(HasSubstr("<string>")));
  });
}

TEST_F(ScriptExecutorTest, ForkedChildOfTheScript_CannotTearItsEvents) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = plan(
        "import os\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try: final_result('child')\n"
        "    except RuntimeError: os._exit(5)\n"
        "    os._exit(6)\n"
        "final_result(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n");
    const auto told = co_await tell(sandbox, std::move(request));
    EXPECT_EQ(told.result.final_result, "5");
  });
}

TEST_F(ScriptExecutorTest, PlansThatEndWhileTheyAreStopped_AllGiveTheirResult) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    for (int i = 0; i < 200; ++i) {
      ScriptRequest request = plan("print('before'); final_result(inputs)");
      request.inputs = std::to_string(i);
      const auto told = co_await tell(sandbox, std::move(request));
      EXPECT_EQ(told.result.final_result, std::to_string(i));
      EXPECT_EQ(told.events.size(), 3u);
    }
  });
}

TEST_F(ScriptExecutorTest, ManyScriptsAtOnce_EachGetItsOwnResult) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    std::vector<std::unique_ptr<ScriptRun>> runs;
    for (int i = 0; i < 60; ++i) {
      ScriptRequest request = plan("final_result(inputs)");
      request.inputs = std::to_string(i);
      auto started = co_await executor_.start(sandbox, std::move(request), Deadline::after(60s));
      EXPECT_TRUE(started) << started.error().message;
      if (started) runs.push_back(std::move(*started));
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (;;) {
        auto step = co_await runs[i]->next(Deadline::after(60s));
        EXPECT_TRUE(step) << step.error().message;
        if (!step) break;
        const auto* result = std::get_if<ScriptResult>(&*step);
        if (result == nullptr) continue;
        EXPECT_EQ(result->final_result, std::to_string(i));
        break;
      }
    }
  });
}

TEST_F(ScriptExecutorTest, SandboxWithoutHarness_IsAClearError) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = plan("final_result(1)");
    ScriptListener nobody;
    auto ran = co_await executor_.run(sandbox, std::move(request), std::move(nobody));
    EXPECT_FALSE(ran);
    if (ran) co_return;
    EXPECT_EQ(ran.error().code, ErrorCode::not_found);
    EXPECT_THAT(ran.error().message, HasSubstr("not prepared"));
  });
}

TEST_F(ScriptExecutorTest, HarnessWithUnknownImport_IsNotPrepared) {
  in_sandbox([this](LiveSandbox& sandbox) -> Task<> {
    ScriptHarness options;
    options.imports.emplace_back("no_such_module");
    auto prepared = co_await executor_.prepare(sandbox, std::move(options), Deadline::after(60s));
    EXPECT_FALSE(prepared);
  });
}

TEST_F(ScriptExecutorTest, RunThatIsStopped_IsCancelled) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = plan("import time\nintermediate('on')\ntime.sleep(100)");
    auto started = co_await executor_.start(sandbox, std::move(request), Deadline::after(60s));
    EXPECT_TRUE(started) << started.error().message;
    if (!started) co_return;
    const auto script = std::move(*started);
    for (;;) {
      auto step = co_await script->next(Deadline::after(60s));
      EXPECT_TRUE(step) << step.error().message;
      if (!step) break;
      if (const auto* result = std::get_if<ScriptResult>(&*step)) {
        EXPECT_EQ(result->ending, ScriptEnding::cancelled);
        break;
      }
      if (std::holds_alternative<IntermediateEvent>(std::get<ScriptEvent>(*step))) script->stop();
    }
  });
}

TEST_F(ScriptExecutorTest, ResetWhileAScriptIsOnItsWay_LeavesNothingOfIt) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    for (int i = 0; i < 30; ++i) {
      ScriptRequest request = plan("import time\nopen('mark', 'w')\ntime.sleep(100)");
      auto dropped = co_await executor_.start(sandbox, std::move(request), Deadline::after(60s));
      EXPECT_TRUE(dropped) << dropped.error().message;
      if (i % 3 == 0 && dropped) (void)co_await (*dropped)->next(Deadline::after(60s));
      if (i % 2 == 0) dropped = fail(ErrorCode::cancelled, "dropped");
      auto reset = co_await sandbox.reset(Deadline::after(60s));
      EXPECT_TRUE(reset) << reset.error().message;
    }
    ScriptRequest last = plan("import os; final_result(os.listdir())");
    const auto told = co_await tell(sandbox, std::move(last));
    EXPECT_EQ(told.result.final_result, "[]");
  });
}

TEST_F(ScriptExecutorTest, SourceAndInputsOfManyBytes_ArriveWhole) {
  with_harness([this](LiveSandbox& sandbox) -> Task<> {
    ScriptRequest request = plan("#" + std::string(3'000'000, 'c') + "\nfinal_result(len(inputs))");
    request.inputs = "\"" + std::string(10'000'000, 'i') + "\"";
    const auto told = co_await tell(sandbox, std::move(request));
    EXPECT_EQ(told.result.final_result, "10000000");
  });
}

}  // namespace
}  // namespace cloche
