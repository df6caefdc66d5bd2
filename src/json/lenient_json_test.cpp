#include "json/lenient_json.hpp"

#include <gmock/gmock.h>

#include "json/write_json.hpp"

namespace cloche {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const json::object fields = *json::parse_object(
    R"({"text": "a", "number": 7, "real": 1.5, "truth": true, "texts": ["x", 1, "y"], "objects": [{"n": 1}, 2],)"
    R"( "map": {"k": "v", "n": 1}, "huge": 1e30})");

TEST(LenientJson, ValuesOfTheirType_AreRead) {
  EXPECT_EQ(json::text(fields, "text"), "a");
  EXPECT_EQ(json::number(fields, "number"), 7);
  EXPECT_EQ(json::real(fields, "real"), 1.5);
  EXPECT_EQ(json::real(fields, "number"), 7);
  EXPECT_TRUE(json::truth(fields, "truth"));
  EXPECT_THAT(json::texts(json::find(fields, "texts")), ElementsAre("x", "y"));
  EXPECT_THAT(json::objects(json::find(fields, "objects")), ElementsAre(json::object{{"n", 1}}));
  EXPECT_THAT(json::names(json::find(fields, "map")), ElementsAre("k", "n"));
  EXPECT_THAT(json::text_map(json::find(fields, "map")), ElementsAre(Pair("k", "v")));
  EXPECT_EQ(json::text(json::find(json::value(fields), "map", "k")), "v");
}

TEST(LenientJson, MissingValuesAndOtherTypes_AreDefaults) {
  for (const char* name : {"none", "objects"}) {
    EXPECT_EQ(json::text(fields, name), "");
    EXPECT_EQ(json::number(fields, name), 0);
    EXPECT_EQ(json::real(fields, name), 0);
    EXPECT_FALSE(json::truth(fields, name));
    EXPECT_THAT(json::texts(json::find(fields, name)), IsEmpty());
    EXPECT_THAT(json::names(json::find(fields, name)), IsEmpty());
    EXPECT_THAT(json::text_map(json::find(fields, name)), IsEmpty());
  }
  EXPECT_THAT(json::objects(json::find(fields, "map")), IsEmpty());
  EXPECT_EQ(json::number(fields, "real"), 0);
  EXPECT_EQ(json::number(fields, "huge"), 0);
  EXPECT_EQ(json::find(json::value(fields), "text", "inner"), nullptr);
}

TEST(LenientJson, Bytes_ReadBackAsWritten) {
  for (const std::string written : {"plain", "\xff\xfe", ""}) {
    json::object object;
    put_bytes(object, "out", written);
    EXPECT_EQ(json::bytes(object, "out"), written);
  }
}

TEST(LenientJson, WhatIsNotJson_IsAProtocolError) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("[] x"), std::string(40, '[')}) {
    const auto parsed = json::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::protocol);
  }
  EXPECT_FALSE(json::parse_object("[]"));
}

}  // namespace
}  // namespace cloche
