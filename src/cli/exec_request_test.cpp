// The requests of `cloche exec`.
#include "cli/exec_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "cli/escape_keys.hpp"

namespace cloche::cli {
namespace {

using testing::HasSubstr;

TEST(PlanExec, Words_BecomeOneProgramsOwn) {
  ExecArguments args;
  args.session = "demo";
  args.words = {"echo", "it's", "$(id); ls", ""};
  const auto request = plan_exec(args);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->target, "/bash");
  EXPECT_EQ(request->body.at("command").as_string(), R"(exec echo 'it'\''s' '$(id); ls' '')");
  EXPECT_FALSE(request->body.contains("tenant_id"));
}

TEST(PlanExec, Code_GoesWithItsLanguage) {
  ExecArguments args;
  args.session = "demo";
  args.tenant = "acme";
  args.language = "cpp";
  args.code = "int main() {}";
  args.input = "21";
  args.env = {{"A", "1"}};
  args.work_dir = "sub";
  args.timeout = 2.5;
  args.background = true;
  const auto request = plan_exec(args);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->target, "/execute");
  EXPECT_EQ(boost::json::serialize(request->body),
            R"({"session_id":"demo","tenant_id":"acme","code":"int main() {}","language":"cpp","stdin":"21",)"
            R"("env":{"A":"1"},"work_dir":"sub","timeout":2.5E0,"background":true})");
}

TEST(PlanExec, WhatJsonCannotCarry_IsRefused) {
  ExecArguments args;
  args.session = "demo";
  const auto message_for = [&] {
    const auto request = plan_exec(args);
    return request ? std::string("planned") : request.error().message;
  };
  EXPECT_THAT(message_for(), HasSubstr("no program"));
  args.words = {"cat"};
  args.input = "\xff";
  EXPECT_THAT(message_for(), HasSubstr("cloche sessions cp"));
  args.input.clear();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"\xff"}, {"a", std::string("\0", 1)}, {""}, {"-c", "ls"}}) {
    args.words = words;
    EXPECT_NE(message_for(), "planned");
  }
}

TEST(TerminalLine, EnvironmentAndDirectory_AreSetByTheShell) {
  ExecArguments args;
  EXPECT_EQ(terminal_line_for(args).value(), "");
  args.words = {"vi", "a b"};
  args.env = {{"TERM", "it's"}};
  args.work_dir = "-x y";
  EXPECT_EQ(terminal_line_for(args).value(), R"(export TERM='it'\''s'; cd './-x y' || exit 126; exec vi 'a b')");
  args.words.clear();
  EXPECT_THAT(terminal_line_for(args).value(), testing::EndsWith("exec sh -i"));
}

TEST(ParseEnv, ValuesAreGivenOrThisShellsOwn) {
  const auto own = [](const char* name) -> const char* { return std::string_view(name) == "HERE" ? "own" : nullptr; };
  const auto env = parse_env({"A=1", "B=", "C=x=y", "HERE", "A=2"}, own);
  ASSERT_TRUE(env) << env.error().message;
  EXPECT_EQ(*env, (std::map<std::string, std::string>{{"A", "2"}, {"B", ""}, {"C", "x=y"}, {"HERE", "own"}}));
  for (const char* entry : {"", "=x", "1A=x", "A-B=x", "MISSING", "A;id=x"})
    EXPECT_FALSE(parse_env({entry}, own)) << entry;
}

TEST(EscapeKeys, TildeAndDot_LeaveAtTheBeginningOfALine) {
  const auto typed = [](const std::vector<std::string>& pieces) {
    EscapeKeys escape;
    std::string all;
    for (const std::string& piece : pieces) {
      const auto [keys, leaves] = escape.take(piece);
      all += keys;
      if (leaves) return all + "<left>";
    }
    return all;
  };
  EXPECT_EQ(typed({"~."}), "<left>");
  EXPECT_EQ(typed({"ls\r~", "."}), "ls\r<left>");
  EXPECT_EQ(typed({"cd ~.\r"}), "cd ~.\r");
  EXPECT_EQ(typed({"~/x\r"}), "~/x\r");
  EXPECT_EQ(typed({"~~.\r~~", "~."}), "~.\r~~.");
  EXPECT_EQ(typed({"~", "\r~."}), "~\r<left>");
}

}  // namespace
}  // namespace cloche::cli
