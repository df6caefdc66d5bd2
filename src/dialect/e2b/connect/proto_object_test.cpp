// Messages of protocol buffers in JSON.
#include "dialect/e2b/connect/proto_object.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>

namespace cloche::dialect::e2b::connect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class ProtoObjectTest : public testing::Test {
 protected:
  ProtoObject object(std::string_view text) {
    value_ = boost::json::parse(text);
    return ProtoObject::of(value_).value();
  }
  json::value value_;
};

constexpr std::array colours = {EnumName{"COLOUR_UNSPECIFIED", 0}, EnumName{"COLOUR_RED", 7}};

TEST_F(ProtoObjectTest, BothSpellings_AreRead) {
  EXPECT_EQ(object(R"({"watcherId": "a"})").text("watcherId").value(), "a");
  EXPECT_EQ(object(R"({"watcher_id": "b"})").text("watcherId").value(), "b");
  EXPECT_FALSE(object(R"({"watcherId": "a", "watcher_id": "b"})").text("watcherId"));
}

TEST_F(ProtoObjectTest, AbsentOrNull_IsTheDefault) {
  for (const char* text : {"{}", R"({"x": null})"}) {
    const ProtoObject read = object(text);
    EXPECT_EQ(read.text("x").value(), "");
    EXPECT_EQ(read.optional_text("x").value(), std::nullopt);
    EXPECT_FALSE(read.has("x").value());
    EXPECT_FALSE(read.flag("x").value());
    EXPECT_TRUE(read.flag("x", true).value());
    EXPECT_EQ(read.uint32("x").value(), 0U);
    EXPECT_EQ(read.bytes("x").value(), "");
    EXPECT_EQ(read.enumeration("x", colours).value(), 0);
    EXPECT_TRUE(read.texts("x").value().empty());
    EXPECT_TRUE(read.text_map("x").value().empty());
    EXPECT_FALSE(read.message("x").value());
  }
}

TEST_F(ProtoObjectTest, UnknownFields_AreIgnored) {
  EXPECT_EQ(object(R"({"new": {"deep": [1]}, "x": "y"})").text("x").value(), "y");
}

TEST_F(ProtoObjectTest, Numbers_AreNumbersOrTexts) {
  for (const char* text : {R"({"n": 5})", R"({"n": "5"})", R"({"n": 5.0})", R"({"n": 5e0})"}) {
    EXPECT_EQ(object(text).uint32("n").value(), 5U) << text;
  }
  EXPECT_EQ(object(R"({"n": 4294967295})").uint32("n").value(), UINT32_MAX);
  for (const char* text : {R"({"n": -1})", R"({"n": 4294967296})", R"({"n": 1.5})", R"({"n": "x"})", R"({"n": ""})",
                           R"({"n": "5 "})", R"({"n": true})", R"({"n": 1e300})", R"({"n": 18446744073709551615})"}) {
    const auto number = object(text).uint32("n");
    ASSERT_FALSE(number) << text;
    EXPECT_THAT(number.error().message, HasSubstr("n must be"));
  }
}

TEST_F(ProtoObjectTest, Bytes_AreOfEitherAlphabet) {
  for (const char* text : {R"({"b": "+/8="})", R"({"b": "+/8"})", R"({"b": "-_8="})", R"({"b": "-_8"})"}) {
    EXPECT_EQ(object(text).bytes("b").value(), "\xfb\xff") << text;
  }
  EXPECT_FALSE(object(R"({"b": "!"})").bytes("b"));
  EXPECT_FALSE(object(R"({"b": "abcde"})").bytes("b"));
}

TEST_F(ProtoObjectTest, Enumeration_IsByNameOrNumber) {
  EXPECT_EQ(object(R"({"c": "COLOUR_RED"})").enumeration("c", colours).value(), 7);
  EXPECT_EQ(object(R"({"c": 7})").enumeration("c", colours).value(), 7);
  EXPECT_EQ(object(R"({"c": 8})").enumeration("c", colours).value(), 8);
  EXPECT_FALSE(object(R"({"c": "RED"})").enumeration("c", colours));
  EXPECT_FALSE(object(R"({"c": []})").enumeration("c", colours));
}

TEST_F(ProtoObjectTest, ListsMapsAndMessages_AreRead) {
  EXPECT_THAT(object(R"({"l": ["a", "b"]})").texts("l").value(), ElementsAre("a", "b"));
  EXPECT_FALSE(object(R"({"l": ["a", 1]})").texts("l"));
  EXPECT_FALSE(object(R"({"l": "a"})").texts("l"));
  EXPECT_THAT(object(R"({"m": {"a": "b"}})").text_map("m").value(), ElementsAre(Pair("a", "b")));
  EXPECT_FALSE(object(R"({"m": {"a": 1}})").text_map("m"));
  EXPECT_EQ(object(R"({"o": {"x": "y"}})").message("o").value()->text("x").value(), "y");
  EXPECT_FALSE(object(R"({"o": []})").message("o"));
}

TEST_F(ProtoObjectTest, WhatIsNoObject_IsRefused) { EXPECT_FALSE(ProtoObject::of(json::value("text"))); }

}  // namespace
}  // namespace cloche::dialect::e2b::connect
