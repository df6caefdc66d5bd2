#include "dialect/e2b/interpreter/bodies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace cloche::dialect::e2b {
namespace {

using boost::json::parse;

TEST(InterpreterBodies, ExecuteWithNulls_TakesThemAsAbsent) {
  const auto body = read_execute_body(parse(R"({"code":"1","context_id":null,"language":null,"env_vars":null})"));
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->code, "1");
  EXPECT_FALSE(body->context_id);
  EXPECT_FALSE(body->language);
  EXPECT_TRUE(body->env_vars.empty());
}

TEST(InterpreterBodies, ExecuteWithContextAndLanguage_IsRefused) {
  const auto body = read_execute_body(parse(R"({"code":"1","context_id":"a","language":"python"})"));
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().code, ErrorCode::invalid_argument);
}

TEST(InterpreterBodies, ExecuteWithUnknownField_IgnoresIt) {
  const auto body = read_execute_body(parse(R"({"code":"1","env_vars":{"A":"b"},"later":[1]})"));
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_THAT(body->env_vars, testing::ElementsAre(testing::Pair("A", "b")));
}

TEST(InterpreterBodies, ExecuteWithWrongTypes_IsRefused) {
  for (const char* text : {"[]", "{}", R"({"code":1})", R"({"code":"1","env_vars":[]})",
                           R"({"code":"1","env_vars":{"a":1}})", R"({"code":"1","context_id":7})"}) {
    EXPECT_FALSE(read_execute_body(parse(text))) << text;
  }
}

TEST(InterpreterBodies, EmptyContext_IsPythonInTheHomeDirectory) {
  const auto body = read_context_body(parse("{}"));
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->language, "python");
  EXPECT_EQ(body->cwd, "");
}

}  // namespace
}  // namespace cloche::dialect::e2b
