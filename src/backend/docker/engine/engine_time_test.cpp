#include "backend/docker/engine/engine_time.hpp"

#include <gtest/gtest.h>

namespace cloche::docker {
namespace {

TEST(ToEventTime, MomentsOfTheEngine_AreConverted) {
  EXPECT_EQ(to_event_time("1970-01-01T00:00:10Z"), "10.000000000");
  EXPECT_EQ(to_event_time("2026-11-15T06:40:29.076425638Z"), "1794724829.076425638");
  EXPECT_EQ(to_event_time("2026-11-15T06:40:29.5Z"), "1794724829.500000000");
}

TEST(ToEventTime, OtherText_IsRefused) {
  for (const char* odd : {"", "yesterday", "2026-11-15", "2026-11-15T06:40:29", "2026-11-15T06:40:29+01:00",
                          "2026-11-15T06:40:29.1234567890Z"}) {
    EXPECT_FALSE(to_event_time(odd)) << odd;
  }
}

TEST(NowRfc3339, Now_CanBeReadBack) { EXPECT_TRUE(to_event_time(now_rfc3339())); }

}  // namespace
}  // namespace cloche::docker
