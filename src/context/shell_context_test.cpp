// Commands in a sandbox of the fake backend.
#include "context/shell_context.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "context/testing/context_fixture.hpp"
#include "core/async/task_group.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using Shell = ShellContextOptions::Shell;

class ShellContextTest : public ContextFixture {
 protected:
  using Body = std::function<Task<>(LiveSandbox&, ShellContext&)>;

  void with_shell(Body body, Shell kind = Shell::bash_or_sh) {
    in_sandbox([body, kind](LiveSandbox& sandbox) -> Task<> {
      ShellContextOptions options;
      options.shell = kind;
      options.grace = 500ms;
      auto opened = co_await ShellContext::open(sandbox, std::move(options), Deadline::after(60s));
      EXPECT_TRUE(opened) << opened.error().message;
      if (!opened) co_return;
      co_await body(sandbox, **opened);
      co_await (*opened)->close();
    });
  }
  void with_each_shell(const Body& body) {
    for (const Shell kind : {Shell::bash_or_sh, Shell::sh}) {
      SCOPED_TRACE(kind == Shell::sh ? "sh" : "bash");
      io_.restart();
      with_shell(body, kind);
    }
  }

  static Task<CommandResult> run(ShellContext& shell, CommandRequest request) {
    OutputSink no_sink;
    auto ran = co_await shell.run(std::move(request), std::move(no_sink), Deadline::after(60s));
    EXPECT_TRUE(ran) << ran.error().message;
    co_return ran ? std::move(*ran) : CommandResult{};
  }
  static Task<CommandResult> run(ShellContext& shell, std::string command, std::chrono::milliseconds limit = 30s) {
    CommandRequest request;
    request.command = std::move(command);
    request.wall_limit = limit;
    return run(shell, std::move(request));
  }
};

// Bugs of the original system's terminal.
TEST_F(ShellContextTest, OutputThatLooksLikeAnything_IsOutput) {
  with_each_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    const auto number = co_await run(shell, "echo 42");
    EXPECT_EQ(number.out, "42\n");
    EXPECT_EQ(number.err, "");
    EXPECT_EQ(number.exit_code, 0);
    EXPECT_EQ(number.ending, ContextEnding::ok);
    const auto lines = co_await run(shell, "printf '1\\n\\n\\n2\\n'; echo; echo 0");
    EXPECT_EQ(lines.out, "1\n\n\n2\n\n0\n");
    const auto prompts =
        co_await run(shell, "echo '$ '; echo 'root@host:/# '; printf '> '; echo 'end 1 0 /'; echo more");
    EXPECT_EQ(prompts.out, "$ \nroot@host:/# \n> end 1 0 /\nmore\n");
    const auto next = co_await run(shell, "echo next");
    EXPECT_EQ(next.out, "next\n");
    const auto both = co_await run(shell, "echo out; echo err >&2; (exit 7)");
    EXPECT_EQ(both.out, "out\n");
    EXPECT_EQ(both.err, "err\n");
    EXPECT_EQ(both.exit_code, 7);
    const auto binary = co_await run(shell, "printf '\\000\\377\\200\\001'; cat /dev/null");
    EXPECT_EQ(binary.out, std::string("\0\xff\x80\x01", 4));
    const auto rights = co_await run(shell, "id -u; grep CapEff /proc/self/status");
    EXPECT_EQ(rights.out, "1000\nCapEff:\t0000000000000000\n");
    const auto words = co_await run(shell, "mkdir d; rm -rf d; echo 'rm -rf /' ':(){ :|:& };:'");
    EXPECT_EQ(words.exit_code, 0) << "what a command may do is the sandbox's to say, not a list of words";
    const auto begun = std::chrono::steady_clock::now();
    co_await shell.close();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);
  });
}

TEST_F(ShellContextTest, StateLivesOn) {
  with_each_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    (void)co_await run(shell,
                       "mkdir -p a/b; cd a/b; x='two  words'; export Y=why; f() { echo \"f:$x:$1\"; }; umask 077");
    EXPECT_EQ(shell.directory(), "/workspace/a/b");
    const auto found = co_await run(shell, "pwd; f 1; sh -c 'echo $Y'; umask");
    EXPECT_THAT(found.out, HasSubstr("/workspace/a/b\nf:two  words:1\nwhy\n0077\n"));
    const auto failed = co_await run(shell, "false");
    EXPECT_EQ(failed.exit_code, 1);
    const auto status = co_await run(shell, "echo $?");
    EXPECT_EQ(status.out, "1\n");
  });
}

TEST_F(ShellContextTest, CommandsOfEveryShape_EndWhereTheyEnd) {
  with_each_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    const auto torn = co_await run(shell, "echo \"no end");
    EXPECT_NE(torn.exit_code, 0);
    EXPECT_NE(torn.err, "");
    const auto open = co_await run(shell, "if true; then echo x");
    EXPECT_NE(open.exit_code, 0);
    const auto document = co_await run(shell, "cat <<END\nline $((1 + 1))\n\\back\nEND\necho 'a\\0nb'");
    EXPECT_EQ(document.out.substr(0, 13), "line 2\n\\back\n");
    const auto halves = co_await run(shell, "cat <<END\nnever closed");
    EXPECT_EQ(halves.out.substr(0, 12), "never closed");
    const auto reads =
        co_await run(shell, "cat; read x; echo \"[$x]\"; python3 -c 'print(repr(input()))' 2>/dev/null; echo $?");
    EXPECT_EQ(reads.out, "[]\n1\n") << "stdin is empty";
    const auto loops = co_await run(shell, "break; echo after; continue");
    EXPECT_EQ(loops.ending, ContextEnding::ok);
    const auto many = co_await run(shell, "i=0; while [ $i -lt 3 ]; do\n  echo $i\n  i=$((i + 1))\ndone\n\n# comment");
    EXPECT_EQ(many.out, "0\n1\n2\n");
    const auto empty = co_await run(shell, "");
    EXPECT_EQ(empty.ending, ContextEnding::ok);
    const auto unicode = co_await run(shell, "echo 'grüße\t→' | tr -d '\\n'; printf '\\\\0101'");
    EXPECT_EQ(unicode.out, "grüße\t→\\0101");
    const auto alive = co_await run(shell, "echo alive");
    EXPECT_EQ(alive.out, "alive\n");
    EXPECT_FALSE(alive.fresh);
    const auto traced = co_await run(shell, "set -x; :");
    EXPECT_THAT(traced.err, Not(HasSubstr("cloche")));
    const auto still = co_await run(shell, "echo traced; set +x");
    EXPECT_THAT(still.err, HasSubstr("echo traced"));
    EXPECT_THAT(still.err, Not(HasSubstr("cloche")));
    const auto quiet = co_await run(shell, "echo quiet");
    EXPECT_EQ(quiet.err, "");
  });
}

TEST_F(ShellContextTest, Input_IsTheCommandsOwnAndLeavesNothing) {
  with_each_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    const auto with_input = [](std::string command, std::string input) {
      CommandRequest request;
      request.command = std::move(command);
      request.input = std::move(input);
      return request;
    };
    CommandRequest reads = with_input("read -r x; printf '%s\\n' \"$x\"; cat; (exit 3)", "a\\n b\nc\nno end");
    const auto read = co_await run(shell, std::move(reads));
    EXPECT_EQ(read.out, "a\\n b\nc\nno end");
    EXPECT_EQ(read.exit_code, 3);
    CommandRequest large = with_input("echo $?; wc -c", std::string(3'000'000, 'x'));
    const auto counted = co_await run(shell, std::move(large));
    EXPECT_EQ(counted.out, "3\n3000000\n") << counted.err;
    const auto none = co_await run(shell, "cat; ls -A /tmp; printf '[%s]\\n' \"$x\"");
    EXPECT_EQ(none.out, "[a\\n b]\n") << "neither input nor its file is left";
    CommandRequest leaves = with_input("y=1; read -r z; exit 5", "zed\n");
    const auto left = co_await run(shell, std::move(leaves));
    EXPECT_EQ(left.exit_code, 5);
    EXPECT_EQ(left.state, ContextState::handed_over);
    CommandRequest slow = with_input("echo on; sleep 100; echo not", "unread");
    slow.wall_limit = 250ms;
    const auto ended = co_await run(shell, std::move(slow));
    EXPECT_EQ(ended.ending, ContextEnding::timeout);
    EXPECT_EQ(ended.out, "on\n");
    CommandRequest loop = with_input("break; echo after", "x");
    const auto broken = co_await run(shell, std::move(loop));
    EXPECT_EQ(broken.ending, ContextEnding::ok);
    const auto after = co_await run(shell, "echo $y $z; cat; ls -A /tmp");
    EXPECT_EQ(after.out, "1 zed\n") << after.err;
    EXPECT_FALSE(after.fresh);
  });
}

TEST_F(ShellContextTest, ShellThatEnds_HandsItsStateToASuccessor) {
  with_each_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    (void)co_await run(shell, "cd /tmp; x='a \"b\" $c'; export Y=why; sleep 1000 & echo $! >/tmp/pid");
    const std::pair<const char*, int> cases[] = {{"echo out; exit 3; echo not", 3},
                                                 {"set -e; (exit 5); echo not", 5},
                                                 {"set +e; f() { g() { exit 6; }; g; }; f >/dev/null; echo not", 6}};
    for (const auto& [command, code] : cases) {
      const auto left = co_await run(shell, command);
      EXPECT_EQ(left.exit_code, code) << command;
      EXPECT_EQ(left.ending, ContextEnding::ok);
      EXPECT_EQ(left.state, ContextState::handed_over) << command;
      EXPECT_THAT(left.out, Not(HasSubstr("not")));
      const auto after = co_await run(shell, "set +e; echo \"$PWD $x $Y\"; kill -0 $(cat /tmp/pid) && echo job");
      EXPECT_EQ(after.out, "/tmp a \"b\" $c why\njob\n") << command;
      EXPECT_EQ(after.state, ContextState::kept);
      EXPECT_FALSE(after.fresh);
    }
    const auto stderr_too = co_await run(shell, "{ exit 1; } 2>/dev/null >&2");
    EXPECT_EQ(stderr_too.exit_code, 1);
    const auto visible = co_await run(shell, "echo out; echo err >&2");
    EXPECT_EQ(visible.out, "out\n");
    EXPECT_EQ(visible.err, "err\n");
  });
}

TEST_F(ShellContextTest, BashThatEnds_HandsOverFunctionsArraysOptionsAndTraps) {
  with_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    (void)co_await run(shell,
                       "f() { echo \"f $1\"; }; declare -A m=([k]='v w'); a=(1 '2 3'); shopt -s extglob; "
                       "set -o pipefail; trap 'echo got' USR1; readonly r=1; alias ll='ls -l'");
    (void)co_await run(shell, "exit 1");
    const auto after = co_await run(shell,
                                    "f 1; echo ${m[k]} \"${a[1]}\" $r; shopt extglob; false | true; echo $?; "
                                    "kill -USR1 $$; alias ll");
    EXPECT_EQ(after.out, "f 1\nv w 2 3 1\nextglob        \ton\n1\ngot\nalias ll='ls -l'\n") << after.err;
  });
}

TEST_F(ShellContextTest, ShellThatCannotHandOver_IsLostAndTheNextCommandGetsANewOne) {
  with_each_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    (void)co_await run(shell, "mkdir -p /workspace/d; cd /workspace/d; x=1");
    const std::pair<const char*, int> cases[] = {
        {"exec sh -c 'echo replaced; exit 4'", 4}, {"kill -9 $$", 137}, {"trap 'echo bye' EXIT; exit 8", 8}};
    for (const auto& [command, code] : cases) {
      const auto gone = co_await run(shell, command);
      EXPECT_EQ(gone.ending, ContextEnding::lost) << command;
      EXPECT_EQ(gone.state, ContextState::lost);
      EXPECT_EQ(gone.exit_code, code) << command;
      EXPECT_NE(gone.reason, "");
      const auto anew = co_await run(shell, "echo \"$PWD [$x]\"");
      EXPECT_EQ(anew.out, "/workspace/d []\n") << command;
      EXPECT_TRUE(anew.fresh);
      (void)co_await run(shell, "x=1");
    }
    (void)co_await run(shell, "rmdir /workspace/d");
    (void)co_await run(shell, "kill -9 $$");
    const auto elsewhere = co_await run(shell, "pwd");
    EXPECT_EQ(elsewhere.out, "/workspace\n");
  });
}

TEST_F(ShellContextTest, CommandThatRunsTooLong_IsEndedAndTheNextOneIsClean) {
  with_each_shell([](LiveSandbox& sandbox, ShellContext& shell) -> Task<> {
    (void)co_await run(shell, "x=kept; cd /tmp; sleep 1000 & old=$!");
    const char* cases[] = {
        "echo on; sleep 100",
        "echo on; sleep 100; echo not",
        "echo on; while :; do :; done; echo not",
        "echo on; while :; do sleep 100; done",
        "echo on; while :; do sleep 0.01; done",
        "echo on; y=$(sleep 100; echo not); echo not",
        "echo on; sleep 100 | cat; echo not",
        "echo on; (trap '' TERM INT; while :; do sleep 0.1; done); echo not",
        "echo on; timeout 100 sleep 100; echo not",
        "echo on; setsid sleep 100; sleep 100; echo not",
        "echo on; f() { g() { sleep 100; }; g; echo not; } >/dev/null; f",
        "echo on; (sleep 0.6; echo not) & sleep 100",
        "echo on; sleep 100 & wait; echo not",
        "echo on; mkfifo /tmp/p$$ 2>/dev/null; read y </tmp/p$$; echo not",
        "echo on; python3 -c 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(100)'; echo not",
        "echo on; trap 'echo not' TERM INT; sleep 100",
    };
    for (const char* command : cases) {
      SCOPED_TRACE(command);
      const auto begun = std::chrono::steady_clock::now();
      const auto slow = co_await run(shell, command, 250ms);
      EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
      EXPECT_EQ(slow.ending, ContextEnding::timeout);
      EXPECT_EQ(slow.exit_code, 124);
      EXPECT_EQ(slow.out, "on\n");
      EXPECT_NE(slow.state, ContextState::lost) << slow.reason;
      const auto after = co_await run(shell, "echo \"$x $PWD\"; kill -0 $old && echo old; trap - TERM INT");
      EXPECT_EQ(after.out, "kept /tmp\nold\n") << after.err;
      EXPECT_FALSE(after.fresh);
      EXPECT_EQ(after.late.count, 0u);
    }
    ExecSpec look = ExecSpec::shell("cat /proc/[0-9]*/comm | grep -c '^sleep$'");
    auto left = co_await sandbox.run(std::move(look));
    EXPECT_TRUE(left && left->out == "1\n") << (left ? left->out : "");
  });
}

TEST_F(ShellContextTest, ShellThatCannotBeInterrupted_IsEndedAndSaysSo) {
  with_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    const auto stubborn = co_await run(shell, "x=1; trap '' RTMIN+5; while :; do :; done", 250ms);
    EXPECT_EQ(stubborn.ending, ContextEnding::timeout);
    EXPECT_EQ(stubborn.state, ContextState::lost);
    EXPECT_THAT(stubborn.reason, HasSubstr("the interpreter was stopped"));
    const auto after = co_await run(shell, "echo \"[$x]\"");
    EXPECT_EQ(after.out, "[]\n");
    EXPECT_TRUE(after.fresh);
  });
}

TEST_F(ShellContextTest, BackgroundJobs_GoOnAndCanBeWaitedFor) {
  with_each_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    const auto begun = std::chrono::steady_clock::now();
    const auto started = co_await run(shell, "(sleep 0.3; echo done >/tmp/done; exit 6) & p=$!; echo started");
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
    EXPECT_EQ(started.out, "started\n");
    const auto waited = co_await run(shell, "wait $p; echo $?; cat /tmp/done");
    EXPECT_EQ(waited.out, "6\ndone\n");
    (void)co_await run(shell, "(sleep 0.2; echo late; echo >/tmp/late) &");
    const auto other = co_await run(shell, "until [ -e /tmp/late ]; do sleep 0.02; done");
    EXPECT_EQ(other.out, "late\n") << "what is printed while a command runs is with it, as in any terminal";
  });
}

TEST_F(ShellContextTest, OutputOverItsCaps_IsCutAndThenEndsTheCommand) {
  with_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    const auto much = co_await run(shell, "x=1; head -c 3000000 /dev/zero | tr '\\0' y; echo end >&2");
    EXPECT_EQ(much.out.size(), mib(1).count);
    EXPECT_EQ(much.out_totals.produced.count, 3'000'000u);
    EXPECT_EQ(much.err, "end\n");
    CommandRequest endless;
    endless.command = "yes";
    endless.caps.stop_output = mib(2);
    const auto ended = co_await run(shell, std::move(endless));
    EXPECT_EQ(ended.ending, ContextEnding::output_limit);
    EXPECT_NE(ended.state, ContextState::lost) << ended.reason;
    const auto after = co_await run(shell, "echo $x");
    EXPECT_EQ(after.out, "1\n");
  });
}

TEST_F(ShellContextTest, CallerThatGoesAway_LeavesTheNextCommandClean) {
  with_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    const auto executor = co_await asio::this_coro::executor;
    Event printed(executor);
    bool on = false;
    TaskGroup callers(executor);
    callers.spawn("caller", [&]() -> Task<> {
      CommandRequest request;
      request.command = "x=1; while :; do echo on; sleep 0.01; done";
      OutputSink listener = [&](const Output&) {
        on = true;
        printed.notify();
      };
      (void)co_await shell.run(std::move(request), std::move(listener));
    });
    while (!on) co_await printed.wait();
    co_await callers.shut_down();
    const auto after = co_await run(shell, "echo $x");
    EXPECT_EQ(after.out, "1\n");
    EXPECT_FALSE(after.fresh);
  });
}

TEST_F(ShellContextTest, CallsBesideEachOther_GoInOrder) {
  with_shell([](LiveSandbox&, ShellContext& shell) -> Task<> {
    using asio::experimental::awaitable_operators::operator&&;
    auto [one, two, three] =
        co_await (run(shell, "sleep 0.2; echo one") && run(shell, "echo two") && run(shell, "echo three"));
    EXPECT_EQ(one.out + two.out + three.out, "one\ntwo\nthree\n");
    std::string long_command = "echo '" + std::string(200'000, 'x') + "' | wc -c";
    const auto large = co_await run(shell, std::move(long_command));
    EXPECT_EQ(large.out, "200001\n");
    CommandRequest bad;
    bad.command = std::string("echo \0", 6);
    OutputSink no_sink;
    auto refused = co_await shell.run(std::move(bad), std::move(no_sink));
    EXPECT_FALSE(refused);
  });
}

}  // namespace
}  // namespace cloche
