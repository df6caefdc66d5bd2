// Completion and manual, of the real command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/command_line.hpp"
#include "cli/tree/command_tree.hpp"
#include "cli/tree/complete.hpp"
#include "cli/tree/manual.hpp"

namespace cloche::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

class CommandTree : public testing::Test {
 protected:
  CommandTree() { set_up_command_line(app_, flags_, chosen_); }

  Completion completed(const std::vector<std::string>& words) {
    return complete(app_, words, [this](const std::vector<std::string>&) {
      ++asked_;
      return std::vector<std::string>{"demo", "other"};
    });
  }
  std::vector<std::string> texts(const std::vector<std::string>& words) {
    std::vector<std::string> all;
    for (const Candidate& each : completed(words).candidates) all.push_back(each.text);
    return all;
  }

  // Each visible command, including those with subcommands.
  static void for_each(const CLI::App& app, const std::function<void(const CLI::App&)>& visit) {
    visit(app);
    for (const CLI::App* each : visible_commands(app)) for_each(*each, visit);
  }

  CLI::App app_;
  GeneralFlags flags_;
  Action chosen_;
  int asked_ = 0;
};

TEST_F(CommandTree, Commands_AreOffered) {
  EXPECT_THAT(texts({""}),
              IsSupersetOf({"run", "serve", "exec", "sessions", "logs", "pools", "top", "doctor", "token"}));
  EXPECT_THAT(texts({""}), Not(Contains("complete"))) << "it is hidden";
  EXPECT_THAT(texts({"se"}), ElementsAre("serve", "sessions"));
  EXPECT_THAT(texts({"sessions", ""}), ElementsAre("list", "kill", "cp", "fork", "pause", "resume"));
  EXPECT_THAT(texts({"--log-level", "debug", "sessions", "k"}), ElementsAre("kill"));
  EXPECT_EQ(asked_, 0) << "no service was needed";
}

TEST_F(CommandTree, OptionsAndTheirValues_AreOffered) {
  EXPECT_THAT(texts({"sessions", "kill", "--m"}), ElementsAre("--mode"));
  EXPECT_THAT(texts({"sessions", "kill", "--mode", ""}), ElementsAre("cut", "wait"));
  EXPECT_THAT(texts({"sessions", "kill", "--mode=w"}), ElementsAre("--mode=wait"));
  EXPECT_THAT(texts({"--color", "a"}), ElementsAre("auto", "always"));
  EXPECT_THAT(texts({"pools", "--col"}), ElementsAre("--color")) << "what all commands take";
  EXPECT_THAT(texts({"run", "--backend", ""}), ElementsAre("oci", "docker", "e2b", "kubernetes"));
  EXPECT_THAT(texts({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(texts({"serve", "--log-level", "t"}), ElementsAre("trace"));
}

TEST_F(CommandTree, Sessions_AreAskedForWhereOneCanStand) {
  EXPECT_THAT(texts({"exec", "d"}), ElementsAre("demo"));
  EXPECT_THAT(texts({"logs", ""}), ElementsAre("demo", "other"));
  EXPECT_THAT(texts({"sessions", "kill", "demo", ""}), ElementsAre("demo", "other"));
  EXPECT_THAT(texts({"sessions", "cp", "a", "o"}), ElementsAre("other:"));
  EXPECT_EQ(asked_, 4);
  EXPECT_THAT(texts({"logs", "demo", ""}), IsEmpty());
  EXPECT_EQ(asked_, 4);
}

TEST_F(CommandTree, Files_AreOfferedWhereOneCanStand) {
  EXPECT_EQ(completed({"run", ""}).files, Completion::Files::any);
  EXPECT_EQ(completed({"exec", "demo", "--", "-"}).files, Completion::Files::any);
  EXPECT_EQ(completed({"serve", "--state-dir", ""}).files, Completion::Files::directories);
  EXPECT_EQ(completed({"pools", ""}).files, Completion::Files::none);
}

TEST_F(CommandTree, Nonsense_IsNoReasonToFall) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"nonsense", ""},
                                                {"--nonsense", ""},
                                                {"--", ""},
                                                {"-"},
                                                {"--="},
                                                {"--mode=", "x", "="},
                                                {"exec", "--", "--", "x"},
                                                {"\033[2J"}}) {
    completed(words);
  }
}

TEST_F(CommandTree, EveryCommandAndOption_IsInTheManual) {
  const std::string page = manual_page(app_, "1.2.3");
  int options = 0;
  for_each(app_, [&](const CLI::App& command) {
    if (visible_commands(command).empty()) {
      EXPECT_THAT(page, HasSubstr("\\fB" + roff_text(full_name(command)) + "\\fR"));
    }
    for (const CLI::Option* option : visible_options(command)) {
      for (const std::string& name : names_of(*option)) EXPECT_THAT(page, HasSubstr("\\fB" + roff_text(name) + "\\fR"));
      ++options;
    }
  });
  EXPECT_GT(options, 60);
  EXPECT_THAT(page, HasSubstr("CLOCHE_SERVER"));
  EXPECT_THAT(page, Not(HasSubstr("complete\\fR"))) << "it is hidden";
}

TEST_F(CommandTree, EveryCommandThatPrints_CanDoSoInJson) {
  for_each(app_, [&](const CLI::App& command) {
    const bool prints_text_for_others = command.get_name() == "completion" || command.get_name() == "manual";
    if (!visible_commands(command).empty() || prints_text_for_others) return;
    EXPECT_NE(command.get_option_no_throw("--json"), nullptr) << full_name(command);
  });
}

TEST(RoffText, NoLetter_IsAnOrder) {
  EXPECT_EQ(roff_text(".br"), "\\&.br");
  EXPECT_EQ(roff_text("a\n'b"), "a\n\\&\\(aqb");
  EXPECT_EQ(roff_text("\\fB-x"), "\\efB\\-x");
  EXPECT_EQ(roff_text("a…"), "a...");
}

}  // namespace
}  // namespace cloche::cli
