#include "core/text.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(Text, AsciiLetters_AreLoweredAndNothingElse) {
  EXPECT_EQ(lower("AZaz09_-[@`{"), "azaz09_-[@`{");
  EXPECT_EQ(lower("\xc3\x84\x80\xff"), "\xc3\x84\x80\xff");
  EXPECT_EQ(lower(""), "");
}

TEST(Text, WordsThatDifferInCase_AreTheSame) {
  EXPECT_TRUE(same_word("Keep-Alive", "keep-aLIVE"));
  EXPECT_FALSE(same_word("keep", "keeps"));
  EXPECT_FALSE(same_word("@", "`"));
}

TEST(Text, Bytes_HaveTwoHexDigitsEach) {
  EXPECT_EQ(to_hex(std::string_view("\0\x0f\xf0\xff", 4)), "000ff0ff");
  EXPECT_EQ(to_hex(""), "");
}

}  // namespace
}  // namespace cloche
