#include "core/base64.hpp"

#include <gtest/gtest.h>

#include <set>

namespace cloche {
namespace {

TEST(Base64, TextsOfTheStandard_AreTheirBytes) {
  const std::pair<std::string, std::string> texts[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"},
                                                       {"\xfb\xff", "+/8="}};
  for (const auto& [bytes, text] : texts) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes) << text;
  }
  EXPECT_EQ(encode_base64url("\xfb\xff"), "-_8");
  EXPECT_EQ(decode_base64url("-_8"), "\xfb\xff");
}

TEST(Base64, PaddingInTheWrongPlace_IsRefused) {
  for (const char* text :
       {"A=BC", "====", "QUI=QUI=", "=QUJ", "Q===", "QUJD====", "QUJD=", "QQ", "QQ=", "QUI", "=", "=="})
    EXPECT_FALSE(decode_base64(text)) << text;
  EXPECT_FALSE(decode_base64url("QQ=="));
}

TEST(Base64, OtherCharacters_AreRefused) {
  for (const char* text : {"QUJD----", "QU D", " QUJD", "QUJD\n", "QUJ?", "QU-D", "QU_D"})
    EXPECT_FALSE(decode_base64(text)) << text;
  EXPECT_FALSE(decode_base64(std::string_view("QU\0D", 4)));
  EXPECT_FALSE(decode_base64url("QU+D"));
  EXPECT_FALSE(decode_base64url("QU/D"));
}

TEST(Base64, StrayBits_AreRefused) {
  EXPECT_FALSE(decode_base64("QR=="));
  EXPECT_FALSE(decode_base64("QUJ="));
  EXPECT_FALSE(decode_base64url("QR"));
}

// Every text of four characters out of those that matter: the alphabet's ends, both alphabets' last two, padding and
// strangers. What is taken is exactly what the encoder writes.
TEST(Base64, EveryTextOfFourCharacters_IsTakenOnlyAsTheEncoderWritesIt) {
  const std::string letters("AQZagz09+/-_= \n?\0\x80", 18);
  std::size_t taken = 0;
  std::string text(4, '\0');
  for (const char a : letters) {
    for (const char b : letters) {
      for (const char c : letters) {
        for (const char d : letters) {
          text = {a, b, c, d};
          const auto bytes = decode_base64(text);
          if (!bytes) continue;
          ++taken;
          ASSERT_EQ(encode_base64(*bytes), text);
        }
      }
    }
  }
  // All four in the alphabet (10 letters here); three with two free bits at zero; two with four free bits at zero.
  EXPECT_EQ(taken, 10'000u + 10 * 10 * 4 + 10 * 3);
}

TEST(Base64, EveryStringOfTwoBytes_HasOneTextInEachAlphabet) {
  std::set<std::string> texts;
  for (int high = 0; high < 256; ++high) {
    for (int low = 0; low < 256; ++low) {
      const std::string bytes{static_cast<char>(high), static_cast<char>(low)};
      const std::string text = encode_base64(bytes);
      ASSERT_EQ(decode_base64(text), bytes);
      ASSERT_EQ(decode_base64url(encode_base64url(bytes)), bytes);
      texts.insert(text);
    }
  }
  EXPECT_EQ(texts.size(), 65'536u);
}

}  // namespace
}  // namespace cloche
