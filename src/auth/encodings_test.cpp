// Base64url, strict JSON, times and digests as text.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/base64.hpp"
#include "core/utc_time.hpp"
#include "json/members.hpp"
#include "json/strict_json.hpp"

namespace cloche::auth {
namespace {

TEST(Base64url, AnyBytes_ComeBack) {
  std::mt19937 random(7);
  for (std::size_t size = 0; size < 70; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string text = encode_base64url(bytes);
    EXPECT_EQ(decode_base64url(text), bytes);
    EXPECT_EQ(text.find_first_of("+/="), text.npos);
  }
  EXPECT_EQ(encode_base64url("\xfb\xff"), "-_8");
}

TEST(Base64url, OtherSpellings_AreRefused) {
  for (const std::string& text :
       {std::string("A"), std::string("AAAAA"), std::string("AA=="), std::string("AAA="), std::string("A+AA"),
        std::string("A/AA"), std::string("AA AA"), std::string("AAAA\n"), std::string("\0AAA", 4), std::string("AA.A"),
        std::string("\xc3\xa4"
                    "AA")}) {
    EXPECT_FALSE(decode_base64url(text)) << text;
  }
}

TEST(Base64url, StrayBits_AreRefused) {
  EXPECT_EQ(decode_base64url("AA"), std::string(1, '\0'));
  EXPECT_FALSE(decode_base64url("AB"));
  EXPECT_EQ(decode_base64url("AAA"), std::string(2, '\0'));
  EXPECT_FALSE(decode_base64url("AAB"));
}

TEST(StrictJson, OneObject_IsRead) {
  const auto object = parse_strict_object(R"( {"a":"b","c":{"a":[{"a":1},{"a":2}]}} )", 8);
  ASSERT_TRUE(object);
  EXPECT_EQ(text_member(*object, "a"), "b");
  EXPECT_FALSE(text_member(*object, "c"));
  EXPECT_FALSE(text_member(*object, "d"));
}

TEST(StrictJson, KeyThatIsThereTwice_IsRefusedHoweverItIsHidden) {
  for (const char* text :
       {R"({"a":1,"a":1})", R"({"a":1,"b":2,"a":3})", R"({"a":1,"\u0061":2})", R"({"x":{"a":1,"a":2}})",
        R"({"x":[[{"a":1,"a":{"b":1}}]]})", R"({"":1,"":2})", R"({"x":{"a":{"p":1,"q":2},"a":{}},"y":1})"}) {
    EXPECT_FALSE(parse_strict_object(text, 8)) << text;
  }
}

TEST(StrictJson, ManyKeysOfWhichTwoAreEqual_IsRefused) {
  std::string text = "{";
  for (int i = 0; i < 500; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(parse_strict_object(text + "\"k500\":0}", 2));
  EXPECT_FALSE(parse_strict_object(text + "\"k250\":0}", 2));
}

TEST(StrictJson, AnythingElse_IsRefused) {
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("1"), std::string("null"), std::string("{}{}"),
        std::string("{} x"), std::string("{'a':1}"), std::string("{\"a\":1,}"), std::string("{\"a\":\"\xff\"}"),
        std::string("{\"a\":\"\xc0\xaf\"}"), std::string("{\"a\":\"\\ud800\"}"), std::string("\xef\xbb\xbf{}"),
        std::string("{\"a\":01}"), std::string("{\"a\":NaN}"), std::string("/**/{}"), std::string("{}\0", 3),
        std::string("{\"a\"")}) {
    EXPECT_FALSE(parse_strict_object(text, 8)) << text;
  }
}

TEST(StrictJson, NestedTooDeeply_IsRefused) {
  EXPECT_TRUE(parse_strict_object(R"({"a":{"b":{}}})", 3));
  EXPECT_FALSE(parse_strict_object(R"({"a":{"b":{}}})", 2));
  EXPECT_FALSE(parse_strict_object("{\"a\":" + std::string(100'000, '['), 16));
}

TEST(UtcTime, WrittenText_IsReadBack) {
  const WallTime time{std::chrono::seconds{1'900'000'000}};
  EXPECT_EQ(to_utc_text(time), "2030-03-17T17:46:40Z");
  EXPECT_EQ(to_utc_text(time + std::chrono::milliseconds{999}), "2030-03-17T17:46:40Z");
  EXPECT_EQ(parse_utc_text("2030-03-17T17:46:40Z"), time);
  EXPECT_EQ(parse_utc_text(to_utc_text(latest_time)), latest_time);
  EXPECT_EQ(to_utc_text(WallTime::max()), "9999-12-31T23:59:59Z");
  EXPECT_EQ(to_utc_text(WallTime::min()), "1970-01-01T00:00:00Z");
  EXPECT_TRUE(parse_utc_text("2032-02-29T00:00:00Z"));
}

TEST(UtcTime, OtherForms_AreRefused) {
  for (const char* text :
       {"", "2030-03-17", "2030-03-17T17:46:40", "2030-03-17T17:46:40+00:00", "2030-03-17 17:46:40Z",
        "2030-13-17T17:46:40Z", "2030-02-30T17:46:40Z", "2031-02-29T00:00:00Z", "2030-03-17T24:00:00Z",
        "2030-03-17T17:60:40Z", "2030-03-17T17:46:60Z", "1969-12-31T23:59:59Z", "203O-03-17T17:46:40Z",
        "-030-03-17T17:46:40Z", "2030-03-00T17:46:40Z"}) {
    EXPECT_FALSE(parse_utc_text(text)) << text;
  }
}

}  // namespace
}  // namespace cloche::auth
