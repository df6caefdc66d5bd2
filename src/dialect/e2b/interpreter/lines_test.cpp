#include "dialect/e2b/interpreter/lines.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>

namespace cloche::dialect::e2b {
namespace {

TEST(InterpreterLines, Result_HasItsFormsByName) {
  const auto line = boost::json::parse(result_line(
      R"({"main":true,"forms":{"text/plain":"x","image/png":"aGk=","application/vnd.cloche.chart+json":{"type":"pie"},"x/y":"z"}})"));
  EXPECT_EQ(line.at("type"), "result");
  EXPECT_EQ(line.at("is_main_result"), true);
  EXPECT_EQ(line.at("text"), "x");
  EXPECT_EQ(line.at("png"), "aGk=");
  EXPECT_EQ(line.at("chart").at("type"), "pie");
  EXPECT_EQ(line.at("extra").at("x/y"), "z");
}

TEST(InterpreterLines, ResultThatClaimsAnotherType_StaysAResult) {
  const auto line = boost::json::parse(result_line(R"({"main":false,"type":"error","forms":{"text/plain":"a\nb"}})"));
  EXPECT_EQ(line.at("type"), "result");
  EXPECT_EQ(line.at("text"), "a\nb");
}

TEST(InterpreterLines, BytesThatAreNoResult_AreDropped) {
  const std::string deep = R"({"forms":{"a":)" + std::string(100, '[') + std::string(100, ']') + "}}";
  for (const std::string& text : {std::string(""), std::string("{}"), std::string("[1]"), std::string(R"({"forms":3})"),
                                  std::string("{\"forms\":{\"text/plain\":\"\xff\"}}"), deep}) {
    EXPECT_EQ(result_line(text), "") << text;
  }
}

TEST(InterpreterLines, NumberThatIsTooLarge_DoesNotCostTheResult) {
  EXPECT_EQ(result_line(R"({"main":true,"forms":{"application/json":{"a":[1e999,2]},"text/plain":"x"}})"),
            R"({"type":"result","is_main_result":true,"json":{"a":[null,2]},"text":"x"})"
            "\n");
}

TEST(InterpreterLines, EveryLine_EndsWithOneNewline) {
  const auto now = std::chrono::system_clock::now();
  for (const std::string& line : {execution_count_line(3), output_line("stdout", "a\nb\n", now),
                                  error_line({"E", "m\n", "t\n"}), keepalive_line(), end_line()}) {
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  }
}

}  // namespace
}  // namespace cloche::dialect::e2b
