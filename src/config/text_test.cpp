#include "config/text.hpp"

#include <gtest/gtest.h>

namespace cloche::config {
namespace {

using namespace std::string_view_literals;

TEST(FirstBadCharacter, PlainText_HasNone) {
  for (const auto text : {""sv, "a: 1\r\n\tb\n"sv, "größe: „x“ 𝄞 \u00a0"sv, "\xf4\x8f\xbf\xbf"sv}) {
    EXPECT_FALSE(first_bad_character(text)) << text;
  }
}

TEST(FirstBadCharacter, BadBytes_AreFoundWithTheirLine) {
  const struct {
    std::string_view text;
    int line;
    std::string_view why;
  } cases[] = {
      {"a\nb\0c"sv, 2, "NUL byte"},
      {"\n\n\x04"sv, 3, "control character 0x04"},
      {"\x7f"sv, 1, "control character 0x7f"},
      {"\xff"sv, 1, "not UTF-8: byte 0xff"},
      {"ok \x80"sv, 1, "not UTF-8: byte 0x80"},
      {"\xc0\xaf"sv, 1, "not UTF-8: byte 0xc0"},          // overlong
      {"\xe0\x80\x80"sv, 1, "not UTF-8: byte 0xe0"},      // overlong
      {"\xf0\x80\x80\x80"sv, 1, "not UTF-8: byte 0xf0"},  // overlong
      {"\xed\xa0\x80"sv, 1, "not UTF-8: byte 0xed"},      // a surrogate
      {"\xf4\x90\x80\x80"sv, 1, "not UTF-8: byte 0xf4"},  // beyond the last one
      {"\xe2\x82"sv, 1, "not UTF-8: byte 0xe2"},          // cut off
  };
  for (const auto& test : cases) {
    const auto bad = first_bad_character(test.text);
    ASSERT_TRUE(bad) << test.why;
    EXPECT_EQ(bad->line, test.line);
    EXPECT_EQ(bad->why, test.why);
  }
}

TEST(Shown, AnyText_IsOneShortPrintableLine) {
  EXPECT_EQ(shown("pool_size"), "`pool_size`");
  EXPECT_EQ(shown("a\nb\0\x1b[31m\xff"sv), "`a\\x0ab\\x00\\x1b[31m\\xff`");
  EXPECT_EQ(shown("ü"), "`ü`");
  EXPECT_EQ(shown(std::string(100'000, 'x')), "`" + std::string(60, 'x') + "…`");
}

}  // namespace
}  // namespace cloche::config
