// Limits that are left to the image, and limits that are not.
#include "sandbox/limits.hpp"

#include <gmock/gmock.h>

namespace cloche {
namespace {

TEST(Limits, SizesOfTheImage_AreValidAsAWhole) {
  const Limits limits = limits_of_image(Limits());
  EXPECT_TRUE(are_of_image(limits));
  EXPECT_TRUE(validate(limits));
  EXPECT_EQ(limits.pids, Limits().pids);
  EXPECT_FALSE(are_of_image(Limits()));
  EXPECT_TRUE(require_sizes(Limits()));
  EXPECT_FALSE(require_sizes(limits)) << "a backend that enforces limits needs them";
}

TEST(Limits, LimitOverThoseOfTheImage_IsRefusedByName) {
  LimitOverrides memory;
  memory.memory = mib(64);
  const auto refused = validate(memory.over(limits_of_image(Limits())));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("limit memory cannot be set"));
  LimitOverrides cpus;
  cpus.cpus = 2;
  EXPECT_THAT(validate(cpus.over(limits_of_image(Limits()))).error().message,
              testing::HasSubstr("limit cpus cannot be set"));
  LimitOverrides pids;
  pids.pids = 99;
  EXPECT_TRUE(validate(pids.over(limits_of_image(Limits()))));
}

TEST(Limits, SingleZero_IsStillOutOfRange) {
  Limits limits;
  limits.work_dir = Bytes{};
  EXPECT_THAT(validate(limits).error().message, testing::HasSubstr("limit work_dir is"));
  limits = Limits();
  limits.memory = Bytes{};
  EXPECT_THAT(validate(limits).error().message, testing::HasSubstr("limit memory is"));
}

TEST(Limits, SizesOfASandbox_TakeThePlaceOfTheImages) {
  Limits made;
  made.memory = mib(512);
  made.cpus = 2;
  const Limits whole = with_sizes_of(limits_of_image(Limits()), made);
  EXPECT_EQ(whole.memory, mib(512));
  EXPECT_EQ(whole.cpus, 2);
  EXPECT_TRUE(validate(whole));
}

}  // namespace
}  // namespace cloche
