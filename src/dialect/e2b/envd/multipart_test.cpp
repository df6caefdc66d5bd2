// Bodies of the type multipart/form-data.
#include "dialect/e2b/envd/multipart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::dialect::e2b {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct ReadParts {
  std::vector<std::string> parts;  // "name|file name|content"
  bool complete = false;
  std::optional<Error> error;
};

ReadParts read_all(std::string_view body, std::string_view boundary, std::size_t piece,
                   MultipartReader::Limits limits = {}) {
  MultipartReader reader(boundary, limits);
  ReadParts all;
  for (;;) {
    auto event = reader.next();
    if (!event) {
      all.error = event.error();
      return all;
    }
    if (auto* part = std::get_if<MultipartReader::PartBegins>(&*event)) {
      all.parts.push_back(part->name + "|" + part->file_name.value_or("-") + "|");
    } else if (auto* data = std::get_if<MultipartReader::PartData>(&*event)) {
      all.parts.back() += data->bytes;
    } else if (std::holds_alternative<MultipartReader::AllRead>(*event)) {
      all.complete = true;
      return all;
    } else if (std::holds_alternative<MultipartReader::NeedsMore>(*event)) {
      if (body.empty()) return all;
      reader.feed(body.substr(0, piece));
      body.remove_prefix(std::min(piece, body.size()));
    }
  }
}

std::string part(const std::string& disposition, const std::string& content, const std::string& boundary = "b") {
  return "--" + boundary + "\r\nContent-Disposition: " + disposition + "\r\nContent-Type: x/y\r\n\r\n" + content +
         "\r\n";
}

TEST(Multipart, Parts_AreTheSameInPiecesOfAnySize) {
  const std::string body = "preamble\r\n" + part("form-data; name=\"file\"; filename=\"a/b c.txt\"", "one\r\n--x\r\n") +
                           part("form-data; name=file; filename=\"\"", "") +
                           part("form-data; name=\"other\"", "\r\n--") + "--b--\r\nepilogue";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{1000}}) {
    const ReadParts all = read_all(body, "b", piece);
    EXPECT_FALSE(all.error) << all.error->message;
    EXPECT_TRUE(all.complete);
    EXPECT_THAT(all.parts, ElementsAre("file|a/b c.txt|one\r\n--x\r\n", "file||", "other|-|\r\n--"));
  }
}

TEST(Multipart, ContentLikeTheBoundary_IsContent) {
  const std::string boundary = "----WebKitFormBoundaryX";
  const std::string content = "\r\n------WebKitFormBoundary\r\n--" + boundary.substr(0, 10);
  const ReadParts all =
      read_all(part("form-data; name=\"file\"", content, boundary) + "--" + boundary + "--", boundary, 5);
  EXPECT_TRUE(all.complete);
  EXPECT_THAT(all.parts, ElementsAre("file|-|" + content));
}

TEST(Multipart, FileNames_KeepSlashesQuotesAndUnicode) {
  const auto name = [](const std::string& parameter) {
    const ReadParts all = read_all(part("form-data; name=\"file\"; " + parameter, "") + "--b--", "b", 1000);
    return all.parts.empty() ? "error" : all.parts.front();
  };
  EXPECT_EQ(name("filename=\"/ünï/日本.txt\""), "file|/ünï/日本.txt|");
  EXPECT_EQ(name(R"(filename="a\"b\\c")"), "file|a\"b\\c|");
  EXPECT_EQ(name(R"(filename="a\b")"), "file|a\\b|");
  EXPECT_EQ(name("filename=\"a;b=c\""), "file|a;b=c|");
  EXPECT_EQ(name("filename*=UTF-8''%e2%82%ac%20x"), "file|\u20ac x|");
  EXPECT_EQ(name("filename=\"x\"; filename*=utf-8'en'y"), "file|y|");
  EXPECT_EQ(name("filename*=latin1''y"), "error");
  EXPECT_EQ(name("filename*=utf-8''%4"), "error");
  EXPECT_EQ(name("filename=\"x"), "error");
}

TEST(Multipart, BrokenBodies_AreErrorsOrIncomplete) {
  EXPECT_FALSE(read_all("", "b", 10).complete);
  EXPECT_FALSE(read_all("--b", "b", 10).complete);
  EXPECT_FALSE(read_all(part("form-data; name=\"file\"", "x"), "b", 10).complete);
  EXPECT_TRUE(read_all("--bx\r\n", "b", 10).error);
  EXPECT_TRUE(read_all("--b\r\n\r\ncontent\r\n--b--", "b", 10).error);
  EXPECT_TRUE(read_all("--b\r\nno colon\r\n\r\n", "b", 10).error);
  EXPECT_TRUE(read_all("--b\r\nContent-Type: x\r\n\r\n", "b", 10).error);
  EXPECT_TRUE(read_all(part("attachment; name=\"file\"", ""), "b", 10).error);
  EXPECT_TRUE(read_all(part("form-data; name", ""), "b", 10).error);
}

TEST(Multipart, TooMuch_IsRefused) {
  std::string many;
  for (int i = 0; i < 11; ++i) many += part("form-data; name=\"file\"", "x");
  MultipartReader::Limits limits;
  limits.parts = 10;
  EXPECT_EQ(read_all(many + "--b--", "b", 1000, limits).error->code, ErrorCode::limit_reached);
  limits.head = 1000;
  EXPECT_EQ(read_all("--b\r\nX: " + std::string(2000, 'x'), "b", 100, limits).error->code, ErrorCode::limit_reached);
  EXPECT_TRUE(read_all("--b" + std::string(2000, ' '), "b", 100, limits).error);
}

TEST(MultipartBoundary, ContentType_IsRead) {
  EXPECT_EQ(boundary_of("multipart/form-data; boundary=abc").value(), "abc");
  EXPECT_EQ(boundary_of("Multipart/Form-Data; charset=utf-8; Boundary=\"a b;c\"").value(), "a b;c");
  EXPECT_EQ(boundary_of("text/plain").error().code, ErrorCode::unsupported);
  EXPECT_FALSE(boundary_of("multipart/form-data"));
  EXPECT_FALSE(boundary_of("multipart/form-data; boundary="));
  EXPECT_FALSE(boundary_of("multipart/form-data; boundary=" + std::string(300, 'x')));
}

}  // namespace
}  // namespace cloche::dialect::e2b
