#include "core/utf8.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/file_error.hpp"

namespace cloche {
namespace {

TEST(Utf8, ValidSequences_AreOneCharacter) {
  EXPECT_EQ(first_character("aé").code, 'a');
  EXPECT_EQ(first_character("é").code, 0xe9U);
  EXPECT_EQ(first_character("日x").length, 3U);
  EXPECT_EQ(first_character("\xf0\x9f\x94\x94").code, 0x1f514U);
}

TEST(Utf8, InvalidSequences_AreSingleBytes) {
  for (const char* text : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe9", "\xe9\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                           "\xf4\x90\x80\x80", "\xf0\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(first_character(text).length, 1U) << text;
    EXPECT_GE(first_character(text).code, invalid_byte);
  }
}

TEST(ToUtf8, WellFormedText_StaysAsItIs) {
  const std::string text = std::string("plain\n\0 \xc3\xa4 \xe2\x82\xac \xf0\x9f\x8c\xb1", 19);
  EXPECT_EQ(to_utf8(text), text);
}

TEST(ToUtf8, EachBadByte_IsReplaced) {
  const auto marks = [](int count) {
    std::string all;
    while (count-- > 0) all += "\xef\xbf\xbd";
    return all;
  };
  for (const auto& [bytes, text] : {
           std::pair{std::string("a\xff") + "b", "a" + marks(1) + "b"},
           {"\xc3", marks(1)},          // cut short
           {"\xc0\xaf", marks(2)},      // overlong
           {"\xe0\x80\xaf", marks(3)},  // overlong
           {"\xed\xa0\x80", marks(3)},  // half a surrogate pair
           {"\xf4\x90\x80\x80", marks(4)},
           {"\xe2\x82", marks(2)},
       }) {
    EXPECT_EQ(to_utf8(bytes), text);
  }
}

TEST(Shown, OddBytes_AreEscaped_AndLongNamesCut) {
  EXPECT_EQ(shown("plain é"), "plain é");
  EXPECT_EQ(shown("a\nb\x1b\xff"), "a\\x0ab\\x1b\\xff");
  EXPECT_LT(shown(std::string(5000, 'x')).size(), 300U);
}

}  // namespace
}  // namespace cloche
