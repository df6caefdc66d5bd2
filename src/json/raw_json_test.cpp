#include "json/raw_json.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(CheckJson, WholeValues_AreJson) {
  for (const char* text : {"null", " 1 ", "[]", "{\"a\":[1,2,{}]}", "\"\\u00fc\"", "-1.5e300", "1e999"}) {
    EXPECT_TRUE(check_json(text)) << text;
  }
}

TEST(CheckJson, AnythingElse_IsNot) {
  for (const char* text :
       {"", " ", "{", "1 2", "[1,]", "'a'", "NaN", "// c\n1", "\"\n\"", "\"\xc0\x80\"", "\"\\ud800\"", "01"}) {
    EXPECT_FALSE(check_json(text)) << text;
  }
}

TEST(CheckJson, Depth_IsBounded) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(check_json(nested(most_json_depth)));
  EXPECT_FALSE(check_json(nested(most_json_depth + 1)));
}

TEST(JsonMembers, Members_AreTheTextTheyWereWrittenIn) {
  const auto members = JsonMembers::of(R"( { "a" : [ 1 , "]" ] ,"b":-1.50,"\u0063":"x\"y","d":{"}":{}},"e":true} )");
  ASSERT_TRUE(members) << members.error().message;
  EXPECT_EQ(members->raw("a"), R"([ 1 , "]" ])");
  EXPECT_EQ(members->raw("b"), "-1.50");
  EXPECT_EQ(members->raw("c"), R"("x\"y")");
  EXPECT_EQ(members->text("c"), "x\"y");
  EXPECT_EQ(members->raw("d"), R"({"}":{}})");
  EXPECT_EQ(members->raw("e"), "true");
  EXPECT_FALSE(members->raw("f"));
  EXPECT_FALSE(members->text("b"));
}

TEST(JsonMembers, EmptyObject_HasNone) {
  const auto members = JsonMembers::of("{ }");
  ASSERT_TRUE(members);
  EXPECT_FALSE(members->raw(""));
}

TEST(JsonMembers, MemberThatIsThereTwice_IsRefusedHoweverItIsSpelt) {
  EXPECT_FALSE(JsonMembers::of(R"({"type":1,"ty\u0070e":2})"));
}

}  // namespace
}  // namespace cloche
