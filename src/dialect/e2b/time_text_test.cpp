#include "dialect/e2b/time_text.hpp"

#include <gtest/gtest.h>

namespace cloche::dialect::e2b {
namespace {

using namespace std::chrono_literals;

const Moment noon{std::chrono::sys_days{std::chrono::year{2031} / 5 / 17} + 12h};

TEST(TimeText, Written_HasMilliseconds) {
  EXPECT_EQ(to_time_text(noon), "2031-05-17T12:00:00.000Z");
  EXPECT_EQ(to_time_text(noon + 7ms), "2031-05-17T12:00:00.007Z");
  EXPECT_EQ(to_time_text(noon - 1ms), "2031-05-17T11:59:59.999Z");
}

TEST(TimeText, EveryForm_IsRead) {
  for (const char* text :
       {"2031-05-17T12:00:00Z", "2031-05-17T12:00:00z", "2031-05-17T12:00:00.000Z", "2031-05-17T12:00:00.000000000000Z",
        "2031-05-17T14:00:00+02:00", "2031-05-17T14:00:00.0+0200", "2031-05-17T06:30:00-05:30"}) {
    EXPECT_EQ(parse_time_text(text), noon) << text;
  }
  EXPECT_EQ(parse_time_text("2031-05-17T12:00:00.123456Z"), noon + 123456us);
  EXPECT_EQ(parse_time_text(to_time_text(noon + 42ms)), noon + 42ms);
}

TEST(MomentAt, TimeBeyondWhatAMomentReaches_IsTheLastOne) {
  EXPECT_EQ(moment_at(std::chrono::seconds(5)), Moment(std::chrono::seconds(5)));
  EXPECT_EQ(moment_at(std::chrono::milliseconds(66'000'000'000'018)), moment_at(std::chrono::milliseconds::max()));
  EXPECT_GT(moment_at(std::chrono::milliseconds::max()), Moment(std::chrono::days(100'000)));
}

TEST(TimeText, AnyOtherText_IsRefused) {
  for (const char* text : {"", "2031-05-17", "2031-05-17T12:00:00", "2031-05-17T12:00:00.Z", "2031-02-30T12:00:00Z",
                           "2031-05-17T12:00:00+25:00", "2031-05-17T12:00:00+2:00", "2031-05-17T12:00:00Zx",
                           "2031-05-17T12:00:00+02:0x", "yesterday at about noon", "2310-05-17T09:30:00.5+02:00",
                           "9999-12-31T23:59:59-23:59", "1600-01-01T00:00:00Z"}) {
    EXPECT_FALSE(parse_time_text(text)) << text;
  }
}

}  // namespace
}  // namespace cloche::dialect::e2b
