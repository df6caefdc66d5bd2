#include "session/limit_ceiling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::session {
namespace {

using testing::HasSubstr;

LimitOverrides asking_for_memory(Bytes memory) {
  LimitOverrides asked;
  asked.memory = memory;
  return asked;
}

TEST(LimitCeiling, LowerThanTheProfiles_IsAllowedWithoutACeiling) {
  Limits profile;
  profile.memory = mib(256);
  EXPECT_TRUE(check_ceiling({}, profile, {}));
  EXPECT_TRUE(check_ceiling(asking_for_memory(mib(64)), profile, {}));
  EXPECT_TRUE(check_ceiling(asking_for_memory(mib(256)), profile, {}));
}

TEST(LimitCeiling, AboveTheProfileWithoutACeiling_IsRefused) {
  Limits profile;
  profile.memory = mib(256);
  const auto refused = check_ceiling(asking_for_memory(mib(257)), profile, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("limits: memory is "));
  EXPECT_THAT(refused.error().message, HasSubstr("`max_limits`"));
}

TEST(LimitCeiling, Ceiling_IsTheMostUnlessTheProfileHasMore) {
  Limits profile;
  profile.memory = mib(256);
  EXPECT_TRUE(check_ceiling(asking_for_memory(mib(512)), profile, asking_for_memory(mib(512))));
  EXPECT_FALSE(check_ceiling(asking_for_memory(mib(513)), profile, asking_for_memory(mib(512))));
  EXPECT_TRUE(check_ceiling(asking_for_memory(mib(200)), profile, asking_for_memory(mib(64))));
}

TEST(LimitCeiling, EveryLimit_HasOne) {
  Limits profile;
  for (const int which : {0, 1, 2, 3, 4}) {
    LimitOverrides asked;
    if (which == 0) asked.memory = Bytes{profile.memory.count + 1};
    if (which == 1) asked.cpus = profile.cpus + 0.1;
    if (which == 2) asked.pids = profile.pids + 1;
    if (which == 3) asked.file_size = Bytes{profile.file_size.count + 1};
    if (which == 4) asked.open_files = profile.open_files + 1;
    EXPECT_FALSE(check_ceiling(asked, profile, {})) << which;
    EXPECT_TRUE(check_ceiling(asked, asked.over(profile), {})) << which;
  }
}

}  // namespace
}  // namespace cloche::session
