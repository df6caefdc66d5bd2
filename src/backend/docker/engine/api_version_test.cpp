#include "backend/docker/engine/api_version.hpp"

#include <gtest/gtest.h>

namespace cloche::docker {
namespace {

TEST(ChooseApiVersion, EngineOfAnyAge_IsMetWhereItSpeaks) {
  EXPECT_EQ(choose_api_version({1, 41}, {1, 12}), (ApiVersion{1, 41}));
  EXPECT_EQ(choose_api_version({1, 54}, {1, 24}), (ApiVersion{1, 41}));
  EXPECT_EQ(choose_api_version({1, 30}, {1, 12}), (ApiVersion{1, 30}));
  // An engine that has given up on older versions.
  EXPECT_EQ(choose_api_version({1, 54}, {1, 44}), (ApiVersion{1, 44}));
  EXPECT_EQ(choose_api_version({1, 24}, {1, 12}).error().code, ErrorCode::unsupported);
}

TEST(ParseApiVersion, OddText_IsRefused) {
  EXPECT_EQ(parse_api_version("1.41"), (ApiVersion{1, 41}));
  for (const char* odd : {"", "1", "1.", ".1", "1.41x", "1.-1", "x.y", "99999999999.1"}) {
    EXPECT_FALSE(parse_api_version(odd)) << odd;
  }
}

}  // namespace
}  // namespace cloche::docker
