// `cloche exec`: output, input, exit code and signals are the program's own.
#include <boost/json/object.hpp>
#include <csignal>
#include <regex>

#include "cli/client.hpp"
#include "support/eventually.hpp"

namespace cloche {
namespace {

using testing::IsEmpty;
using testing::Not;

class CliExec : public CliClient {};

TEST_F(CliExec, WordsInputAndExitCode_PassAsTheyAre) {
  const CommandEnd words =
      run_client({"exec", "demo", "--", "printf", "%s|", "it's", "$(id)", "a\nb", "", "*", "--json", "ü"});
  EXPECT_EQ(words.out, "it's|$(id)|a\nb||*|--json|ü|");
  EXPECT_EQ(words.exit_code, 0) << words.err;

  const CommandEnd both = run_client({"exec", "demo", "--", "sh", "-c", "cat; echo oops >&2; exit 7"}, "in\n");
  EXPECT_EQ(both.out, "in\n");
  EXPECT_EQ(both.err, "oops\n");
  EXPECT_EQ(both.exit_code, 7);

  EXPECT_EQ(run_client({"exec", "demo", "--", "sh", "-c", "kill -9 $$"}).exit_code, 137);
  EXPECT_EQ(run_client({"exec", "demo", "--", "no-such-program"}).exit_code, 127);
  EXPECT_EQ(run_client({"exec", "demo", "--", "printf", "\\377\\000x"}).out, std::string("\xff\0x", 3));

  CommandSpec in_place =
      client({"exec", "demo", "-e", "A=1 2", "--env", "OWN", "-w", "sub", "--", "sh", "-c", "echo \"$A $OWN $PWD\""});
  in_place.env["OWN"] = "mine";
  ASSERT_EQ(run_client({"exec", "demo", "mkdir", "sub"}).exit_code, 0);
  EXPECT_EQ(run_command(in_place).out, "1 2 mine /workspace/sub\n");

  const CommandEnd late = run_client({"exec", "demo", "--timeout", "0.5", "--", "sleep", "100"});
  EXPECT_EQ(late.exit_code, 137);
  EXPECT_THAT(late.err, HasSubstr("longer than allowed"));

  const CommandEnd cut = run_client({"exec", "demo", "--", "head", "-c", "3000000", "/dev/zero"});
  EXPECT_EQ(cut.out.size(), std::size_t{1} << 20);
  EXPECT_THAT(cut.err, HasSubstr("output is incomplete"));
}

TEST_F(CliExec, Code_RunsInItsLanguage) {
  EXPECT_EQ(run_client({"exec", "demo", "-c", "print(int(input()) * 2)"}, "21").out, "42\n");
  const std::string file = source("main.py", "import sys; print('file'); sys.exit(3)");
  const CommandEnd from_file = run_client({"exec", "demo", "--language", "python", file});
  EXPECT_EQ(from_file.out, "file\n");
  EXPECT_EQ(from_file.exit_code, 3);
  const CommandEnd told = run_client({"exec", "demo", "--json", "--language", "python", "-c", "print(1); exit(4)"});
  EXPECT_EQ(told.exit_code, 4);
  const auto json = parse_json(told.out).as_object();
  EXPECT_EQ(json.at("stdout").as_string(), "1\n");
  EXPECT_EQ(json.at("exit_code").as_int64(), 4);
  EXPECT_EQ(json.at("session_id").as_string(), "demo");
}

TEST_F(CliExec, Output_ComesWhileTheProgramGoesOn) {
  Command command(
      client({"exec", "demo", "--", "sh", "-c", "echo one; until [ -e go ]; do sleep 0.05; done; echo two"}));
  ASSERT_TRUE(command.wait_for("one\n")) << command.finish(std::chrono::seconds(1)).err;
  ASSERT_EQ(run_client({"exec", "demo", "touch", "go"}).exit_code, 0);
  EXPECT_EQ(command.finish().out, "one\ntwo\n");
}

TEST_F(CliExec, Interrupted_TheProgramHearsOfItAndEnds) {
  const std::string listens = "trap 'echo heard; exit 5' INT; echo ready; while :; do sleep 0.05; done";
  Command polite(client({"exec", "demo", "--", "sh", "-c", listens}));
  ASSERT_TRUE(polite.wait_for("ready\n"));
  polite.signal(SIGINT);
  const CommandEnd end = polite.finish();
  EXPECT_EQ(end.out, "ready\nheard\n") << end.err;
  EXPECT_EQ(end.exit_code, 5);

  Command deaf(client({"exec", "demo", "--", "sh", "-c", "trap '' INT; echo ready; while :; do sleep 0.05; done"}));
  ASSERT_TRUE(deaf.wait_for("ready\n"));
  deaf.signal(SIGINT);
  // Until the first has been taken, a second would be the same one.
  Command look(client({"logs", "demo"}));
  look.finish();
  deaf.signal(SIGINT);
  EXPECT_EQ(deaf.finish(std::chrono::seconds(60)).exit_code, 130);

  for (const auto& [signal, code] : {std::pair{SIGTERM, 143}, {SIGHUP, 129}}) {
    Command command(client({"exec", "demo", "--", "sh", "-c", "echo ready; sleep 1000"}));
    ASSERT_TRUE(command.wait_for("ready\n"));
    command.signal(signal);
    EXPECT_EQ(command.finish().exit_code, code);
  }
  EXPECT_EQ(running("demo"), 0) << "all of them were really ended";
}

TEST_F(CliExec, BrokenPipe_EndsTheRunToo) {
  CommandSpec spec = client({});
  spec.argv = {"bash", "-c", "\"$0\" exec demo -- yes | head -n 1; echo ${PIPESTATUS[0]}", CLOCHE_PROGRAM};
  const CommandEnd end = run_command(spec);
  EXPECT_EQ(end.out, "y\n141\n") << end.err;
  EXPECT_EQ(running("demo"), 0);
}

TEST_F(CliExec, ServiceThatDies_IsToldAndNotWaitedForLong) {
  Command command(client({"exec", "demo", "--", "sh", "-c", "echo ready; sleep 1000"}));
  ASSERT_TRUE(command.wait_for("ready\n"));
  kill_service();
  const CommandEnd end = command.finish(std::chrono::seconds(60));
  EXPECT_EQ(end.exit_code, 69);
  EXPECT_THAT(end.err, HasSubstr("the result of the run is unknown"));
  EXPECT_THAT(end.err, HasSubstr("start one with `cloche serve`"));
}

TEST_F(CliExec, InTheBackground_LogsTellOfIt) {
  const CommandEnd started = run_client({"exec", "demo", "-d", "--", "sh", "-c",
                                         "echo one; echo bad >&2; until [ -e go ]; do sleep 0.05; done; echo two"});
  ASSERT_TRUE(std::regex_match(started.out, std::regex("b[0-9]+\n"))) << started.out << started.err;
  const std::string run = started.out.substr(0, started.out.size() - 1);

  const CommandEnd listed = run_client({"logs", "demo"});
  EXPECT_THAT(listed.out, HasSubstr(run + "   running  background"));
  Command follower(client({"logs", "demo", run, "--follow"}));
  ASSERT_TRUE(follower.wait_for("one\n"));
  // The two streams are two pipes: that one has come says nothing of the other.
  CommandEnd so_far;
  const auto has_both = [&] {
    so_far = run_client({"logs", "demo", run});
    return !so_far.err.empty();
  };
  EXPECT_TRUE(testing_support::eventually(has_both));
  EXPECT_EQ(so_far.out, "one\n");
  EXPECT_EQ(so_far.err, "bad\n");
  EXPECT_EQ(json_of({"logs", "demo", run}).as_object().at("stdout").as_string(), "one\n");

  ASSERT_EQ(run_client({"exec", "demo", "touch", "go"}).exit_code, 0);
  const CommandEnd followed = follower.finish();
  EXPECT_EQ(followed.out, "one\ntwo\n");
  EXPECT_EQ(followed.err, "bad\n");
  EXPECT_EQ(followed.exit_code, 0);
  EXPECT_EQ(run_client({"logs", "demo", run}).out, "one\ntwo\n") << "it is kept";
  const CommandEnd events = run_client({"logs", "demo", run, "-f", "--json"});
  std::istringstream lines(events.out);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    last = std::string(parse_json(line).as_object().at("event").as_string());
  EXPECT_EQ(last, "result");

  const CommandEnd missing = run_client({"logs", "demo", "r0"});
  EXPECT_EQ(missing.exit_code, 70);
  EXPECT_THAT(missing.err, HasSubstr("run `cloche logs demo` to see all runs"));
}

TEST_F(CliExec, Mistakes_AreExplained) {
  const struct {
    std::vector<std::string> arguments;
    int exit_code;
    const char* error;
  } cases[] = {
      {{"exec"}, 64, "SESSION is required"},
      {{"exec", "demo"}, 64, "nothing to run"},
      {{"exec", "demo", "--language", "python"}, 64, "--language requires one source file"},
      {{"exec", "demo", "--language", "python", "-c", "x", "y"}, 64, "both -c and a file"},
      {{"exec", "demo", "--language", "klingon", "-c", "x"}, 64, "klingon"},
      {{"exec", "demo", "--language", "python", "/nowhere/x.py"}, 70, "/nowhere/x.py"},
      {{"exec", "demo", "-e", "1=2", "ls"}, 64, "--env takes NAME=VALUE"},
      {{"exec", "demo", "-w", "..", "ls"}, 64, ".."},
      {{"exec", "a/b", "ls"}, 64, "session"},
      {{"exec", "demo", "--tty", "ls"}, 64, "--tty requires a terminal"},
      {{"exec", "demo", "--tty", "--json", "ls"}, 64, "excludes"},
      {{"exec", "demo", "--server", "nonsense", "ls"}, 64, "is not a service address"},
      {{"exec", "demo", "--token-file", "/nowhere/token", "ls"}, 70, "/nowhere/token"},
      {{"exec", "demo", "--tenant", "..", "ls"}, 64, "tenant"},
  };
  for (const auto& test : cases) {
    const CommandEnd end = run_client(test.arguments);
    EXPECT_EQ(end.exit_code, test.exit_code) << testing::PrintToString(test.arguments) << end.err;
    EXPECT_THAT(end.err, HasSubstr(test.error)) << testing::PrintToString(test.arguments);
    EXPECT_THAT(end.out, IsEmpty());
  }
  const CommandEnd not_text = run_client({"exec", "demo", "cat"}, "\xff");
  EXPECT_EQ(not_text.exit_code, 64);
  EXPECT_THAT(not_text.err, HasSubstr("cloche sessions cp"));
}

}  // namespace
}  // namespace cloche
