#include "config/scalars.hpp"

#include <gtest/gtest.h>

namespace cloche::config {
namespace {

using namespace std::chrono_literals;

TEST(ParseWhole, Digits_AreRead) {
  EXPECT_EQ(parse_whole("0"), 0U);
  EXPECT_EQ(parse_whole("007"), 7U);
  EXPECT_EQ(parse_whole("18446744073709551615"), UINT64_MAX);
}

TEST(ParseWhole, AnythingElse_IsRefused) {
  for (const auto* text :
       {"", "-1", "+1", " 1", "1 ", "0x10", "1e3", "1.0", "1_000", "18446744073709551616", "ten", "1\n"}) {
    EXPECT_FALSE(parse_whole(text)) << text;
  }
}

TEST(ParseReal, Decimal_IsRead) {
  EXPECT_EQ(parse_real("0.5"), 0.5);
  EXPECT_EQ(parse_real("2"), 2.0);
  EXPECT_EQ(parse_real("10.25"), 10.25);
}

TEST(ParseReal, AnythingElse_IsRefused) {
  for (const auto* text : {"", ".", ".5", "5.", "-0.5", "1e3", "nan", ".inf", "inf", "1.2.3", "0x1p3", "1,5"}) {
    EXPECT_FALSE(parse_real(text)) << text;
  }
  EXPECT_FALSE(parse_real(std::string(400, '9')));
}

TEST(ParseDuration, EachUnit_IsRead) {
  EXPECT_EQ(parse_duration("600"), 600s);
  EXPECT_EQ(parse_duration("0"), 0s);
  EXPECT_EQ(parse_duration("1.5"), 1500ms);
  EXPECT_EQ(parse_duration("0.001"), 1ms);
  EXPECT_EQ(parse_duration("500ms"), 500ms);
  EXPECT_EQ(parse_duration("10s"), 10s);
  EXPECT_EQ(parse_duration("5m"), 5min);
  EXPECT_EQ(parse_duration("1.5m"), 90s);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("8784h"), longest_duration);
}

TEST(ParseDuration, AnythingElse_IsRefused) {
  for (const auto* text : {"", "s", "ms", "-1", "-5s", "10 s", "10S", "5 min", "1d", "1m30s", "1e9", "0.0001", "0.1ms",
                           "8785h", "99999999999999999999999999", "nan", "inf", "1..5", "٣"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(ToText, Duration_HasItsShortestForm) {
  EXPECT_EQ(to_text(0ms), "0s");
  EXPECT_EQ(to_text(1ms), "1ms");
  EXPECT_EQ(to_text(90s), "90s");
  EXPECT_EQ(to_text(5min), "5m");
  EXPECT_EQ(to_text(2h), "2h");
}

}  // namespace
}  // namespace cloche::config
