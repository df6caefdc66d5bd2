#include <gtest/gtest.h>

#include "session/runs/artifacts.hpp"

namespace cloche::session {
namespace {

using namespace std::string_literals;

struct Sniffed {
  std::string name;
  std::string bytes;
  std::string type;
};

// A zip's first part, as its header names it.
std::string zip(const std::string& part) { return "PK\3\4"s + std::string(26, '\x14') + part; }

std::string tar() {
  std::string bytes(512, '\0');
  bytes.replace(0, 5, "a.txt");
  bytes.replace(257, 5, "ustar");
  return bytes;
}

TEST(ContentType, FirstBytes_DecideWhateverTheName) {
  const Sniffed cases[] = {
      {"x.txt", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "image/png"},
      {"x", "\xff\xd8\xff\xe0\0\x10JFIF"s, "image/jpeg"},
      {"x.png", "GIF89a\1\0"s, "image/gif"},
      {"x", "RIFF\x24\0\0\0WEBPVP8 "s, "image/webp"},
      {"x", "RIFF\x24\0\0\0WAVEfmt "s, "audio/wav"},
      {"x.txt", "%PDF-1.7\n", "application/pdf"},
      {"x", zip("a.txt"), "application/zip"},
      {"x", zip("[Content_Types].xml") + zip("word/document.xml"),
       "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
      {"table.xlsx", zip("[Content_Types].xml"), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
      {"x", zip("mimetypeapplication/vnd.oasis.opendocument.text") + zip("content.xml"),
       "application/vnd.oasis.opendocument.text"},
      {"not.xlsx", zip("a.txt"), "application/zip"},
      {"x", "\x1f\x8b\x08\0"s, "application/gzip"},
      {"x", tar(), "application/x-tar"},
      {"x", "SQLite format 3\0\x10"s, "application/vnd.sqlite3"},
      {"x", "PAR1\x15\4"s, "application/vnd.apache.parquet"},
      {"x", "\x7f"s + "ELF\2\1\1\0"s, "application/x-elf"},
      {"x", "ID3\4\0"s, "audio/mpeg"},
      {"x", "\0\0\0\x20"s + "ftypisom"s, "video/mp4"},
      {"x", "\0\0\0\x20"s + "ftypM4A "s, "audio/mp4"},
      {"x.txt", "<?xml version=\"1.0\"?>\n<svg xmlns='x'/>", "image/svg+xml"},
      {"x.txt", "  <svg/>", "image/svg+xml"},
      {"x.txt", "<!DOCTYPE html><p>", "text/html; charset=utf-8"},
      {"x", "<?xml version=\"1.0\"?><a/>", "application/xml"},
      {"x", "{ \"a\" : 1 }", "application/json"},
      {"x", "\xff\xfe"s + "a\0"s, "text/plain; charset=utf-16le"},
  };
  for (const auto& each : cases) EXPECT_EQ(content_type_of(each.name, each.bytes), each.type) << each.type;
}

TEST(ContentType, Text_IsWhatItsNameSays_IfThatIsText) {
  EXPECT_EQ(content_type_of("a/b.CSV", "a,b\n1,2\n"), "text/csv; charset=utf-8");
  EXPECT_EQ(content_type_of("r.md", "# Title"), "text/markdown; charset=utf-8");
  EXPECT_EQ(content_type_of("r.json", "[1, 2]"), "application/json");
  EXPECT_EQ(content_type_of("r.png", "no picture"), "text/plain; charset=utf-8");
  EXPECT_EQ(content_type_of("r", "Grüße"), "text/plain; charset=utf-8");
  EXPECT_EQ(content_type_of("r", "[1] not json"), "text/plain; charset=utf-8");
  EXPECT_EQ(content_type_of("r", "BMW is a car"), "text/plain; charset=utf-8");
  EXPECT_EQ(content_type_of("dir.csv/r", "x"), "text/plain; charset=utf-8");
}

TEST(ContentType, CharacterCutInTwo_IsTextStill) {
  EXPECT_EQ(content_type_of("r", "Gr\xc3"), "text/plain; charset=utf-8");
  EXPECT_EQ(content_type_of("r.csv",
                            "Gr\xfc\xdf"
                            "e;x"),
            "text/csv");
  EXPECT_EQ(content_type_of("r",
                            "Gr\xfc\xdf"
                            "e;x"),
            "application/octet-stream");
}

TEST(ContentType, AnythingElse_IsUnknownOrNamed) {
  EXPECT_EQ(content_type_of("x", "\1\2\3"s), "application/octet-stream");
  EXPECT_EQ(content_type_of("x.csv", "\1\2\0\3"s), "application/octet-stream");
  EXPECT_EQ(content_type_of("x.pkl", "\x80\4\x95\0"s), "application/x-pickle");
  EXPECT_EQ(content_type_of("x", ""), "application/octet-stream");
  EXPECT_EQ(content_type_of("x.csv", ""), "text/csv");
  EXPECT_EQ(content_type_of("x", "PK\3\4"), "application/zip");
  EXPECT_EQ(content_type_of("", "\x1a"), "application/octet-stream");
}

}  // namespace
}  // namespace cloche::session
