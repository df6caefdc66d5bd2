#include "agent/stillness.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <thread>

namespace cloche::agent {
namespace {

std::int64_t now() {
  timespec time = {};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

TEST(Stillness, WhileSomebodyWorks_LastChangeIsNow) {
  Stillness stillness;
  const auto work = stillness.begin();
  const std::int64_t before = now();
  EXPECT_GE(stillness.last_change("/w"), before);
}

TEST(Stillness, AfterWork_LastChangeIsItsEnd) {
  Stillness stillness;
  {
    const auto work = stillness.begin();
  }
  const std::int64_t after = now();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_LE(stillness.last_change("/w"), after);
}

TEST(Stillness, WhatWasFound_HoldsForThatPlaceUntilTheNextWork) {
  Stillness stillness;
  auto look = stillness.look_at("/w");
  ASSERT_TRUE(look);
  stillness.found(*look, 1000);
  EXPECT_EQ(stillness.last_change("/w"), 1000);
  EXPECT_GT(stillness.last_change("/elsewhere"), 1000);
  {
    const auto work = stillness.begin();
  }
  EXPECT_GT(stillness.last_change("/w"), 1000);
}

TEST(Stillness, WorkDuringALook_MakesTheLookWorthless) {
  Stillness stillness;
  auto look = stillness.look_at("/w");
  {
    const auto work = stillness.begin();
  }
  stillness.found(*look, 1000);
  EXPECT_GT(stillness.last_change("/w"), 1000);
}

TEST(Stillness, WhileSomebodyWorks_NoLookIsWorthAnything) {
  Stillness stillness;
  const auto work = stillness.begin();
  EXPECT_FALSE(stillness.look_at("/w"));
}

TEST(Stillness, SharedPlaces_AreNeverStill) {
  Stillness stillness;
  stillness.share();
  EXPECT_FALSE(stillness.look_at("/w"));
  const std::int64_t before = now();
  EXPECT_GE(stillness.last_change("/w"), before);
}

TEST(Stillness, MovedWork_EndsOnce) {
  Stillness stillness;
  auto first = stillness.begin();
  {
    const auto second = std::move(first);
  }
  EXPECT_TRUE(stillness.look_at("/w"));
}

}  // namespace
}  // namespace cloche::agent
