// Control messages of a terminal.
#include "api/terminal/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <csignal>

namespace cloche::api {

using testing::HasSubstr;

namespace {

Result<TerminalOptions> options_of(std::string_view query) {
  const auto parsed = http::parse_query(query);
  EXPECT_TRUE(parsed) << query;
  return read_terminal_options(*parsed);
}

}  // namespace

TEST(TerminalControl, Resize_HasItsSize) {
  const auto control = read_terminal_control(R"({"type": "resize", "rows": 50, "cols": 132})");
  ASSERT_TRUE(control) << control.error().message;
  const auto& resize = std::get<TerminalResize>(*control);
  EXPECT_EQ(resize.size.rows, 50u);
  EXPECT_EQ(resize.size.columns, 132u);
}

TEST(TerminalControl, SignalByNameOrNumber_IsTheSignal) {
  for (const char* text : {R"({"type": "signal", "signal": "INT"})", R"({"type": "signal", "signal": "SIGINT"})",
                           R"({"type": "signal", "signal": 2})"}) {
    const auto control = read_terminal_control(text);
    ASSERT_TRUE(control) << control.error().message;
    EXPECT_EQ(std::get<TerminalSignal>(*control).number, SIGINT);
    EXPECT_EQ(std::get<TerminalSignal>(*control).target, wire::SignalTarget::group);
  }
  const auto to_all = read_terminal_control(R"({"type": "signal", "signal": "HUP", "target": "tree"})");
  ASSERT_TRUE(to_all) << to_all.error().message;
  EXPECT_EQ(std::get<TerminalSignal>(*to_all).target, wire::SignalTarget::tree);
}

TEST(TerminalControl, AnythingElse_IsRefused) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"type": "dance"})", R"({"type": 1})", R"({"type": "resize", "rows": 50})",
        R"({"type": "resize", "rows": 0, "cols": 80})", R"({"type": "resize", "rows": 1e9, "cols": 80})",
        R"({"type": "resize", "rows": 24, "cols": 80, "depth": 3})", R"({"type": "signal"})",
        R"({"type": "signal", "signal": 0})", R"({"type": "signal", "signal": "FOO"})",
        R"({"type": "signal", "signal": 64})", R"({"type": "signal", "signal": ""})",
        R"({"type": "signal", "signal": 2, "target": "all"})", "[[[[[[[[[[]]]]]]]]]]"}) {
    const auto control = read_terminal_control(text);
    ASSERT_FALSE(control) << text;
    EXPECT_EQ(control.error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST(TerminalOptions, Query_IsRead) {
  const auto plain = options_of("");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->size.rows, 24u);
  EXPECT_EQ(plain->size.columns, 80u);
  EXPECT_EQ(plain->command, "");
  const auto full = options_of("rows=10&cols=20&command=ls+-l");
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->size.rows, 10u);
  EXPECT_EQ(full->size.columns, 20u);
  EXPECT_EQ(full->command, "ls -l");
  for (const char* query :
       {"rows=0", "rows=1001", "rows=-1", "rows=x", "rows=", "cols=99999999999999", "width=3", "rows=1&rows=2"}) {
    EXPECT_FALSE(options_of(query)) << query;
  }
}

TEST(ExitMessage, Outcome_IsToldInJson) {
  Outcome outcome;
  outcome.ending = Ending::signalled;
  outcome.exit_code = 130;
  outcome.signal = 2;
  EXPECT_EQ(
      boost::json::parse(exit_message(outcome, "")),
      boost::json::parse(R"({"type": "exit", "exit_code": 130, "signal": 2, "ending": "signalled", "reason": ""})"));
  EXPECT_THAT(exit_message(Outcome(), "idle"), HasSubstr(R"("signal":null)"));
  EXPECT_THAT(exit_message(Outcome(), "idle"), HasSubstr(R"("reason":"idle")"));
}

TEST(TerminalErrorMessage, WhatFailedInside_StaysInside) {
  const Error lost{ErrorCode::sandbox_lost, "gone"};
  EXPECT_THAT(terminal_error_message(lost), HasSubstr(R"("code":"sandbox_lost","message":"gone")"));
  const Error inside{ErrorCode::internal, "secret path"};
  EXPECT_THAT(terminal_error_message(inside), testing::Not(HasSubstr("secret path")));
}

}  // namespace cloche::api
