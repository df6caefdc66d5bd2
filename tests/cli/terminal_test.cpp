// `cloche exec --tty` and `cloche top` on a real terminal, which is as it was afterwards, whatever happens.
#include <csignal>

#include "cli/client.hpp"
#include "cli/pty.hpp"

namespace cloche {
namespace {

using testing::Not;

class CliTerminal : public CliClient {};

TEST_F(CliTerminal, Shell_IsTalkedTo) {
  PtyCommand shell(client({"exec", "demo", "--tty", "-e", "PS1=ready> ", "--", "sh", "-i"}), 30, 100);
  ASSERT_TRUE(shell.wait_for("ready> ")) << shell.printed();
  EXPECT_FALSE(shell.is_as_usual()) << "keys go through as they are pressed";
  shell.type("stty size; tty\r");
  ASSERT_TRUE(shell.wait_for("30 100\r\n")) << shell.printed();
  ASSERT_TRUE(shell.wait_for("ready> "));
  shell.resize(40, 120);
  // The news of the size and the keys go the same way, but are not sent in one piece.
  shell.type("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; echo got it\r");
  ASSERT_TRUE(shell.wait_for("\ngot it\r\nready> ")) << shell.printed();
  shell.type("sh -c 'echo up; exec sleep 1000'\r");
  ASSERT_TRUE(shell.wait_for("\nup\r\n")) << shell.printed();
  shell.type("\003");
  ASSERT_TRUE(shell.wait_for("ready> ")) << "^C is the program's";
  shell.type("exit 9\r");
  EXPECT_EQ(shell.finish(), 9);
  EXPECT_TRUE(shell.is_as_usual());
}

TEST_F(CliTerminal, WhateverEndsIt_TheTerminalIsAsBefore) {
  for (const auto& [signal, code] : {std::pair{SIGTERM, 143}, {SIGHUP, 129}, {SIGINT, 130}, {SIGQUIT, 131}}) {
    PtyCommand command(client({"exec", "demo", "-t", "--", "sh", "-c", "echo ready; sleep 1000"}), 24, 80);
    ASSERT_TRUE(command.wait_for("ready")) << command.printed();
    EXPECT_FALSE(command.is_as_usual());
    command.signal(signal);
    EXPECT_EQ(command.finish(), code);
    EXPECT_TRUE(command.is_as_usual()) << signal;
  }
  PtyCommand left(client({"exec", "demo", "-t", "--", "sh", "-c", "echo ready; cat"}), 24, 80);
  ASSERT_TRUE(left.wait_for("ready"));
  left.type("~.");
  EXPECT_EQ(left.finish(), 129);
  EXPECT_TRUE(left.is_as_usual());
  PtyCommand orphan(client({"exec", "demo", "-t", "--", "sh", "-c", "echo ready; sleep 1000"}), 24, 80);
  ASSERT_TRUE(orphan.wait_for("ready"));
  kill_service();
  EXPECT_EQ(orphan.finish(), 69);
  EXPECT_TRUE(orphan.is_as_usual());
  EXPECT_THAT(orphan.printed(), HasSubstr("the service"));
}

TEST_F(CliTerminal, Top_IsDrawnAndLeftAsItWas) {
  ASSERT_EQ(run_client({"exec", "first", "true"}).exit_code, 0);
  PtyCommand top(client({"top", "--interval", "0.2"}), 24, 100);
  ASSERT_TRUE(top.wait_for("\033[?1049h")) << top.printed();
  ASSERT_TRUE(top.wait_for("first"));
  ASSERT_TRUE(top.wait_for("sort: name"));
  ASSERT_EQ(run_client({"exec", "second", "true"}).exit_code, 0);
  ASSERT_TRUE(top.wait_for("second")) << "it looks again";
  top.type("\033[C");
  ASSERT_TRUE(top.wait_for("sort: state"));
  top.resize(10, 40);
  ASSERT_TRUE(top.wait_for("…")) << "and minds its size";
  top.type("q");
  EXPECT_EQ(top.finish(), 0);
  EXPECT_TRUE(top.printed().ends_with("\033[?25h\033[?1049l")) << top.printed();
  EXPECT_TRUE(top.is_as_usual());

  PtyCommand told(client({"top"}), 24, 100);
  ASSERT_TRUE(told.wait_for("q quit"));
  told.signal(SIGTERM);
  EXPECT_EQ(told.finish(), 143);
  EXPECT_TRUE(told.printed().ends_with("\033[?25h\033[?1049l"));
  EXPECT_TRUE(told.is_as_usual());

  PtyCommand left_alone(client({"top", "--interval", "0.1"}), 24, 200);
  ASSERT_TRUE(left_alone.wait_for("q quit"));
  kill_service();
  ASSERT_TRUE(left_alone.wait_for("no service responds")) << "it says so and goes on";
  left_alone.type("\003");
  EXPECT_EQ(left_alone.finish(), 0);
}

TEST_F(CliTerminal, ColoursAndProgress_AreForTerminals) {
  ASSERT_EQ(run_client({"exec", "demo", "true"}).exit_code, 0);
  PtyCommand coloured(client({"sessions", "list"}), 24, 120);
  EXPECT_EQ(coloured.finish(), 0);
  EXPECT_THAT(coloured.printed(), HasSubstr("\033[32mlive\033[0m"));
  CommandSpec without = client({"sessions", "list"});
  without.env["NO_COLOR"] = "1";
  PtyCommand plain(without, 24, 120);
  plain.finish();
  EXPECT_THAT(plain.printed(), Not(HasSubstr("\033")));

  const std::string file = source("data", std::string(100'000, 'x'));
  PtyCommand copy(client({"sessions", "cp", file, "demo:"}), 24, 120);
  EXPECT_EQ(copy.finish(), 0);
  EXPECT_THAT(copy.printed(), HasSubstr("of 97.7 KiB"));
  EXPECT_TRUE(copy.printed().ends_with("\r\033[K")) << "the line is gone in the end";
}

}  // namespace
}  // namespace cloche
