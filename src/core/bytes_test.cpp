#include "core/bytes.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(ParseBytes, NumberWithUnit_CountsInPowersOf1024) {
  EXPECT_EQ(parse_bytes("512m").value(), mib(512));
  EXPECT_EQ(parse_bytes("64MiB").value(), mib(64));
  EXPECT_EQ(parse_bytes("4096").value(), Bytes{4096});
  EXPECT_EQ(parse_bytes("1 k").value(), kib(1));
}

TEST(ParseBytes, Nonsense_SaysHowToWriteIt) {
  for (const char* text : {"", "m", "-1", "12q", "1.5g", "99999999999999999999", "20000000t"}) {
    const auto parsed = parse_bytes(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(parsed.error().message.find("512m"), std::string::npos);
  }
}

TEST(ToString, Amounts_ReadWell) {
  EXPECT_EQ(to_string(mib(512)), "512 MiB");
  EXPECT_EQ(to_string(Bytes{17}), "17 B");
  EXPECT_EQ(to_string(Bytes{1536}), "1.5 KiB");
}

}  // namespace
}  // namespace cloche
