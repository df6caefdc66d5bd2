#include "json/json_reader.hpp"

#include <gmock/gmock.h>

#include <boost/json.hpp>

namespace cloche {
namespace {

using ::testing::HasSubstr;

constexpr ShapeMember file_members[] = {{"content", &shapes::text}, {"mode", &shapes::text_or_number}};
constexpr Shape file{.kinds = Shape::text | Shape::object,
                     .wanted = "a string or an object",
                     .members = file_members,
                     .each = &shapes::anything,
                     .most = 4};
constexpr Shape files{.kinds = Shape::object | Shape::list, .wanted = "an object or a list", .each = &file, .most = 3};
constexpr ShapeMember body_members[] = {{"code", &shapes::text},    {"timeout", &shapes::number},
                                        {"quiet", &shapes::flag},   {"words", &shapes::texts},
                                        {"env", &shapes::text_map}, {"files", &files}};
constexpr Shape body = shapes::object_of(body_members);

JsonRules rules() {
  JsonRules made;
  made.depth = 8;
  made.values = 1000;
  made.shape = &body;
  return made;
}

Result<json::value> read(std::string_view text, std::size_t piece = std::string_view::npos) {
  JsonReader reader(rules());
  for (std::size_t i = 0; i < text.size(); i += std::min(piece, text.size())) {
    if (auto fed = reader.feed(text.substr(i, piece)); !fed) return fail(std::move(fed).error());
  }
  return reader.finish();
}

// How many bytes of an endless text are read before it is rejected.
std::size_t refused_after(const std::string& beginning, const std::string& repeated, std::string& why) {
  JsonReader reader(rules());
  std::size_t fed = beginning.size();
  auto status = reader.feed(beginning);
  while (status && fed < (std::size_t{8} << 20)) {
    status = reader.feed(repeated);
    fed += repeated.size();
  }
  why = status ? "" : status.error().message;
  return fed;
}

const std::string valid =
    R"({"code": "caf\u00e9 \ud83d\ude00\n", "timeout": 2.50, "quiet": false, "words": ["a", ""], "env": {"A": "1"},)"
    R"( "files": {"a.py": "x", "b.py": {"content": "y", "mode": 420}}, "new": {"any": [1, {"x": null}]}} )";

TEST(JsonReader, ValidText_IsReadAlikeInPiecesOfAnySize) {
  const json::value expected = boost::json::parse(valid);
  for (std::size_t piece = 1; piece <= valid.size(); ++piece) {
    auto value = read(valid, piece);
    ASSERT_TRUE(value) << value.error().message;
    EXPECT_EQ(*value, expected);
  }
}

TEST(JsonReader, Null_IsAbsentEverywhere) {
  EXPECT_TRUE(read(R"({"code": null, "files": {"a": null}, "words": [null]})"));
}

TEST(JsonReader, WrongType_NamesTheFieldAndWhatIsWanted) {
  const std::vector<std::pair<std::string, std::string>> all{
      {R"([])", "the body must be a JSON object"},
      {R"(7)", "the body must be a JSON object"},
      {R"({"code": [0]})", "the body: code must be a string"},
      {R"({"code": 5})", "the body: code must be a string"},
      {R"({"code": {}})", "the body: code must be a string"},
      {R"({"timeout": "5"})", "the body: timeout must be a number"},
      {R"({"quiet": 0})", "the body: quiet must be true or false"},
      {R"({"words": "a"})", "the body: words must be a list of strings"},
      {R"({"words": ["a", 1]})", "the body: words must be a list of strings"},
      {R"({"env": {"A": 1}})", "the body: env must be an object of strings"},
      {R"({"files": 1})", "the body: files must be an object or a list"},
      {R"({"files": {"a.py": 1}})", "files: a.py must be a string or an object"},
      {R"({"files": {"a.py": {"content": 1}}})", R"(files["a.py"]: content must be a string)"},
      {R"({"files": ["", {"mode": []}]})", "files[1]: mode must be a string or a number"}};
  for (const auto& [text, error] : all) {
    auto value = read(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(value.error().message, error);
  }
}

TEST(JsonReader, WrongType_IsRefusedAtItsFirstByte) {
  for (const char* text :
       {R"({"code": [)", R"({"code": {)", R"({"words": {)", R"({"files": {"a": [)", R"({"env": [)"}) {
    JsonReader reader(rules());
    EXPECT_FALSE(reader.feed(text)) << text;
  }
}

TEST(JsonReader, TextWithoutEnd_IsRefusedEarly) {
  std::string why;
  const std::vector<std::array<std::string, 2>> all{{R"({"code": [)", "0,"},
                                                    {R"({"other": [)", "0,"},
                                                    {R"({"other": [)", "{},"},
                                                    {R"({"other": {)", R"("k":0,)"},
                                                    {R"({"words": [)", R"("",)"},
                                                    {R"({"files": [)", R"("",)"},
                                                    {R"({")", "key"},
                                                    {R"({"timeout": 1)", "11111111"},
                                                    {R"({"code": 1)", "1"},
                                                    {"[", "["},
                                                    {R"({"other": )", R"({"a":)"}};
  for (const auto& [beginning, repeated] : all) {
    EXPECT_LT(refused_after(beginning, repeated, why), 64u << 10) << beginning << repeated;
    EXPECT_FALSE(why.empty());
  }
}

TEST(JsonReader, TooMuch_IsALimit) {
  const auto too_many = read(R"({"files": ["", "", "", ""]})");
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code, ErrorCode::limit_reached);
  EXPECT_EQ(too_many.error().message, "the body: files has too many elements; at most 3 are allowed");
  std::string unknown = "{";
  for (int i = 0; i < 70; ++i) unknown += "\"k" + std::to_string(i) + "\": 0,";
  const auto members = read(unknown + R"("last": 0})");
  ASSERT_FALSE(members);
  EXPECT_EQ(members.error().code, ErrorCode::limit_reached);
}

TEST(JsonReader, FieldThatTheShapeDoesNotName_HasFewValues) {
  JsonRules few = rules();
  few.unnamed = 5;
  const auto read_few = [&](std::string_view text) {
    JsonReader reader(few);
    return reader.feed(text);
  };
  EXPECT_TRUE(read_few(R"({"words": ["", "", "", "", "", "", "", ""], "other": [0, 0]})"));
  EXPECT_TRUE(
      read_few(R"({"files": [{"content": "", "mode": 1}, {"content": "", "mode": 1}, {"content": "", "mode": 1}]})"));
  const auto refused = read_few(R"({"other": [0, 0, 0, 0, 0, 0]})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit_reached);
}

TEST(JsonReader, KeyThatIsThereTwice_IsRefused) {
  for (const char* text : {R"({"a": 1, "a": 2})", R"({"a": 1, "\u0061": 2})", R"({"x": [{"k": 1, "j": 2, "k": 3}]})"}) {
    const auto value = read(text);
    ASSERT_FALSE(value) << text;
    EXPECT_THAT(value.error().message, HasSubstr("duplicate key"));
  }
}

TEST(JsonReader, WhatIsNotJson_IsRefused) {
  for (const char* text : {"", " ", "{", R"({"a")", "{}}", "{} {}", "{'a':1}", R"({"a":01})", "{\"a\":\"\xff\"}",
                           "{\"a\":\"\\ud800\"}", "{\"a\":\"\n\"}", "// comment\n{}", "{,}", "nul", "NaN"}) {
    const auto value = read(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace cloche
