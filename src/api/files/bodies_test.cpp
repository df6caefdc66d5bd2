// Bodies of the file routes: what is taken, and what is refused with the field's name.
#include "api/files/bodies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace cloche::api {

using testing::HasSubstr;

namespace {

// The error's message; empty when the body was taken.
template <class Body>
std::string refusal(Result<Body> (*read)(const json::value&), const std::string& text) {
  const auto body = read(json::parse(text));
  if (body) return "";
  EXPECT_EQ(body.error().code, ErrorCode::invalid_argument) << text;
  return body.error().message;
}

}  // namespace

TEST(ReadTextBody, OnlyNeededFields_HasTheDefaults) {
  const auto body = read_text_body(json::parse(R"({"session_id": "s1", "path": "a/b.txt"})"));
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->where.tenant, std::nullopt);
  EXPECT_EQ(body->where.session, "s1");
  EXPECT_EQ(body->path, "a/b.txt");
  EXPECT_EQ(body->offset, 0u);
  EXPECT_EQ(body->limit, 2000u);
  EXPECT_EQ(body->encoding, TextEncoding::utf_8);
}

TEST(ReadTextBody, AllFields_AreTaken) {
  const auto body = read_text_body(json::parse(
      R"({"tenant_id": "t", "session_id": "s1", "path": "x", "offset": 7, "limit": 1, "encoding": "latin-1"})"));
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->where.tenant, "t");
  EXPECT_EQ(body->offset, 7u);
  EXPECT_EQ(body->limit, 1u);
  EXPECT_EQ(body->encoding, TextEncoding::latin_1);
}

TEST(ReadTextBody, WrongInAnyWay_IsRefusedByName) {
  const auto because = [](const std::string& text) { return refusal(read_text_body, text); };
  EXPECT_THAT(because("[]"), HasSubstr("object"));
  EXPECT_THAT(because("null"), HasSubstr("object"));
  EXPECT_THAT(because(R"({"path": "x"})"), HasSubstr("session_id is missing"));
  EXPECT_THAT(because(R"({"session_id": "s"})"), HasSubstr("path is missing"));
  EXPECT_THAT(because(R"({"session_id": 1, "path": "x"})"), HasSubstr("session_id must be a string"));
  EXPECT_THAT(because(R"({"session_id": "a/b", "path": "x"})"), HasSubstr("session_id"));
  EXPECT_THAT(because(R"({"session_id": "..", "path": "x"})"), HasSubstr("session_id"));
  EXPECT_THAT(because(R"({"session_id": "s", "tenant_id": [], "path": "x"})"), HasSubstr("tenant_id"));
  EXPECT_THAT(because(R"({"session_id": "s", "path": ["x"]})"), HasSubstr("path must be a string"));
  EXPECT_THAT(because(R"({"session_id": "s", "path": "x", "offset": -1})"), HasSubstr("offset"));
  EXPECT_THAT(because(R"({"session_id": "s", "path": "x", "offset": 1.5})"), HasSubstr("offset"));
  EXPECT_THAT(because(R"({"session_id": "s", "path": "x", "offset": 18446744073709551615})"), HasSubstr("offset"));
  EXPECT_THAT(because(R"({"session_id": "s", "path": "x", "offset": 1e300})"), HasSubstr("offset"));
  EXPECT_THAT(because(R"({"session_id": "s", "path": "x", "limit": 0})"), HasSubstr("limit"));
  EXPECT_THAT(because(R"({"session_id": "s", "path": "x", "limit": "7"})"), HasSubstr("limit"));
  EXPECT_THAT(because(R"({"session_id": "s", "path": "x", "encoding": "utf-16"})"), HasSubstr("encoding"));
  EXPECT_THAT(because(R"({"session_id": "s", "path": "x", "pathh": 1})"), HasSubstr("pathh is not known"));
}

TEST(ReadTextBody, PathThatCanBeNone_IsRefusedBeforeASessionIsMade) {
  const auto because = [](const std::string& path) {
    return refusal(read_text_body, R"({"session_id": "s", "path": ")" + path + "\"}");
  };
  EXPECT_THAT(because(""), HasSubstr("empty"));
  EXPECT_THAT(because("a\\u0000b"), HasSubstr("NUL"));
  EXPECT_THAT(because(".."), HasSubstr(".."));
  EXPECT_THAT(because("a/../b"), HasSubstr(".."));
  EXPECT_THAT(because(std::string(20'000, 'x')), HasSubstr("too long"));
  EXPECT_EQ(because("a..b/..c"), "");
}

TEST(ReadBinaryBody, LengthThatReachesTooFar_IsRefused) {
  EXPECT_THAT(refusal(read_binary_body, R"({"session_id": "s", "path": "x", "length": 0})"), HasSubstr("length"));
  EXPECT_THAT(
      refusal(read_binary_body, R"({"session_id": "s", "path": "x", "offset": 9223372036854775807, "length": 1})"),
      HasSubstr("length"));
  const auto body = read_binary_body(json::parse(R"({"session_id": "s", "path": "x", "offset": 3, "length": 4})"));
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->offset, 3u);
  EXPECT_EQ(body->length, 4u);
}

TEST(WriteBody, TextOrBase64_IsTheContent) {
  const auto text = read_write_body(json::parse(R"({"session_id": "s", "path": "x", "content": ""})"));
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->content, "");
  EXPECT_EQ(text->mode, 0u);
  EXPECT_EQ(text->existing, WriteBody::Existing::replace);
  const auto bytes = read_write_body(
      json::parse(R"({"session_id": "s", "path": "x", "content_base64": "AP8=", "mode": "0755", "append": true})"));
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(bytes->content, std::string("\0\xff", 2));
  EXPECT_EQ(bytes->mode, 0755u);
  EXPECT_EQ(bytes->existing, WriteBody::Existing::append);
}

TEST(WriteBody, WrongInAnyWay_IsRefusedByName) {
  const auto because = [](const std::string& more) {
    return refusal(read_write_body, R"({"session_id": "s", "path": "x")" + more + "}");
  };
  EXPECT_THAT(because(""), HasSubstr("content"));
  EXPECT_THAT(because(R"(, "content": "a", "content_base64": "YQ==")"), HasSubstr("exactly one of them"));
  EXPECT_THAT(because(R"(, "content": 5)"), HasSubstr("content must be a string"));
  EXPECT_THAT(because(R"(, "content_base64": "Y Q=")"), HasSubstr("base64"));
  EXPECT_THAT(because(R"(, "content": "a", "mode": "0999")"), HasSubstr("mode"));
  EXPECT_THAT(because(R"(, "content": "a", "mode": "4755")"), HasSubstr("mode"));
  EXPECT_THAT(because(R"(, "content": "a", "mode": "0")"), HasSubstr("mode"));
  EXPECT_THAT(because(R"(, "content": "a", "mode": "")"), HasSubstr("mode"));
  EXPECT_THAT(because(R"(, "content": "a", "mode": 512)"), HasSubstr("mode"));
  EXPECT_THAT(because(R"(, "content": "a", "mode": true)"), HasSubstr("mode"));
  EXPECT_THAT(because(R"(, "content": "a", "append": "yes")"), HasSubstr("append"));
  EXPECT_EQ(because(R"(, "content": "a", "mode": 420)"), "");
  EXPECT_EQ(because(R"(, "content": "a", "mode": "0o644")"), "");
}

TEST(GrepBody, WithoutPath_LooksInTheWorkspace) {
  const auto body = read_grep_body(json::parse(R"({"session_id": "s", "pattern": "a+"})"));
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->path, ".");
  EXPECT_EQ(body->limit, 1000u);
  EXPECT_THAT(refusal(read_grep_body, R"({"session_id": "s"})"), HasSubstr("pattern is missing"));
  EXPECT_THAT(refusal(read_grep_body, R"({"session_id": "s", "pattern": "a", "context": 1000})"), HasSubstr("context"));
  EXPECT_THAT(refusal(read_grep_body, R"({"session_id": "s", "pattern": "a", "limit": 1000000})"), HasSubstr("limit"));
}

TEST(GlobBody, AllFields_AreTaken) {
  const auto body =
      read_glob_body(json::parse(R"({"session_id": "s", "pattern": "**", "path": "d", "limit": 5, "hidden": true})"));
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->path, "d");
  EXPECT_EQ(body->limit, 5u);
  EXPECT_TRUE(body->hidden);
}

TEST(SearchBodies, Exclude_IsAListOfTexts) {
  const auto grep = read_grep_body(
      json::parse(R"({"session_id": "s", "pattern": "a", "exclude": ["*.log", "b/"], "hidden": false})"));
  ASSERT_TRUE(grep) << grep.error().message;
  EXPECT_THAT(grep->exclude, testing::ElementsAre("*.log", "b/"));
  EXPECT_FALSE(grep->hidden);
  EXPECT_TRUE(read_grep_body(json::parse(R"({"session_id": "s", "pattern": "a"})"))->hidden);
  EXPECT_THAT(refusal(read_glob_body, R"({"session_id": "s", "pattern": "a", "exclude": "x"})"), HasSubstr("exclude"));
  EXPECT_THAT(refusal(read_glob_body, R"({"session_id": "s", "pattern": "a", "exclude": [1]})"), HasSubstr("exclude"));
}

TEST(ChangeBodies, Fields_AreTakenAndNothingElse) {
  const auto removal = read_delete_body(json::parse(R"({"session_id": "s", "path": "d", "recursive": true})"));
  ASSERT_TRUE(removal) << removal.error().message;
  EXPECT_TRUE(removal->recursive);
  EXPECT_FALSE(removal->missing_ok);
  const auto move =
      read_move_body(json::parse(R"({"session_id": "s", "path": "a", "to": "/tmp/b", "overwrite": true})"));
  ASSERT_TRUE(move) << move.error().message;
  EXPECT_EQ(move->to, "/tmp/b");
  EXPECT_TRUE(move->overwrite);
  const auto directory = read_mkdir_body(json::parse(R"({"session_id": "s", "path": "d"})"));
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(directory->mode, 0755u);
  EXPECT_FALSE(directory->parents);
  EXPECT_FALSE(read_stat_body(json::parse(R"({"session_id": "s", "path": "d", "follow": false})"))->follow);
  EXPECT_THAT(refusal(read_move_body, R"({"session_id": "s", "path": "a", "to": "../b"})"),
              HasSubstr("to: path contains"));
  EXPECT_THAT(refusal(read_move_body, R"({"session_id": "s", "path": "a"})"), HasSubstr("to is missing"));
  EXPECT_THAT(refusal(read_delete_body, R"({"session_id": "s", "path": "a", "force": true})"), HasSubstr("force"));
  EXPECT_THAT(refusal(read_stat_body, R"({"session_id": "s"})"), HasSubstr("path is missing"));
}

TEST(EditBody, TextsAndCounts_AreTaken) {
  const auto once = read_edit_body(json::parse(R"({"session_id": "s", "path": "f", "old": "a", "new": ""})"));
  ASSERT_TRUE(once) << once.error().message;
  EXPECT_EQ(once->expected, 1u);
  const auto all = read_edit_body(
      json::parse(R"({"session_id": "s", "path": "f", "old_base64": "AP8=", "new": "b", "replace_all": true})"));
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->old_text, std::string("\0\xff", 2));
  EXPECT_EQ(all->expected, 0u);
  const auto because = [](const std::string& rest) {
    return refusal(read_edit_body, R"({"session_id": "s", "path": "f")" + rest + "}");
  };
  EXPECT_THAT(because(R"(, "old": "a")"), HasSubstr("new"));
  EXPECT_THAT(because(R"(, "old": "", "new": "a")"), HasSubstr("old must not be empty"));
  EXPECT_THAT(because(R"(, "old": "a", "old_base64": "YQ==", "new": "a")"), HasSubstr("exactly one of them"));
  EXPECT_THAT(because(R"(, "old": "a", "new": "b", "expected": 0)"), HasSubstr("expected"));
}

TEST(CopyBody, ObjectAndList_MeanTheSame) {
  const auto named =
      read_copy_body(json::parse(R"({"files": {"a": "one", "b/c": {"content_base64": "AA==", "mode": "0700"}}})"));
  ASSERT_TRUE(named) << named.error().message;
  const auto listed = read_copy_body(json::parse(
      R"({"files": [{"path": "a", "content": "one"}, {"path": "b/c", "content_base64": "AA==", "mode": 448}]})"));
  ASSERT_TRUE(listed) << listed.error().message;
  for (const auto& files : {*named, *listed}) {
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0].path, "a");
    EXPECT_EQ(files[0].content, "one");
    EXPECT_EQ(files[0].mode, 0u) << "that of the file it replaces";
    EXPECT_EQ(files[1].path, "b/c");
    EXPECT_EQ(files[1].content, std::string(1, '\0'));
    EXPECT_EQ(files[1].mode, 0700u);
  }
}

TEST(CopyBody, WrongInAnyWay_IsRefused) {
  const auto because = [](const std::string& text) { return refusal(read_copy_body, text); };
  EXPECT_THAT(because("{}"), HasSubstr("files"));
  EXPECT_THAT(because(R"({"files": "a"})"), HasSubstr("files"));
  EXPECT_THAT(because(R"({"files": {}, "more": 1})"), HasSubstr("more is not known"));
  EXPECT_THAT(because(R"({"files": {"a": 1}})"), HasSubstr("files[\"a\"]"));
  EXPECT_THAT(because(R"({"files": {"a": {"content": "x", "owner": "me"}}})"), HasSubstr("owner is not known"));
  EXPECT_THAT(because(R"({"files": {"../a": "x"}})"), HasSubstr(".."));
  EXPECT_THAT(because(R"({"files": {"": "x"}})"), HasSubstr("empty"));
  EXPECT_THAT(because(R"({"files": [{"content": "x"}]})"), HasSubstr("files[0]: path is missing"));
  EXPECT_THAT(because(R"({"files": ["x"]})"), HasSubstr("files[0]"));
}

TEST(CopyBody, MoreFilesThanAllowed_IsTooMuch) {
  std::string text = R"({"files": {)";
  for (int i = 0; i <= 1000; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\": \"\"";
  const auto body = read_copy_body(json::parse(text + "}}"));
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().code, ErrorCode::limit_reached);
}

}  // namespace cloche::api
