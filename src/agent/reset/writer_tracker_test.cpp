#include "agent/reset/writer_tracker.hpp"

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

TEST(WriterTracker, WhileSomebodyWorks_LastChangeIsNow) {
  WriterTracker writers;
  const auto work = writers.begin();
  const std::int64_t before = now();
  EXPECT_GE(writers.last_change("/w"), before);
}

TEST(WriterTracker, AfterWork_LastChangeIsItsEnd) {
  WriterTracker writers;
  {
    const auto work = writers.begin();
  }
  const std::int64_t after = now();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_LE(writers.last_change("/w"), after);
}

TEST(WriterTracker, WhatWasFound_HoldsForThatPlaceUntilTheNextWork) {
  WriterTracker writers;
  auto scan = writers.begin_scan("/w");
  ASSERT_TRUE(scan);
  writers.end_scan(*scan, 1000);
  EXPECT_EQ(writers.last_change("/w"), 1000);
  EXPECT_GT(writers.last_change("/elsewhere"), 1000);
  {
    const auto work = writers.begin();
  }
  EXPECT_GT(writers.last_change("/w"), 1000);
}

TEST(WriterTracker, WorkDuringALook_MakesTheLookWorthless) {
  WriterTracker writers;
  auto scan = writers.begin_scan("/w");
  {
    const auto work = writers.begin();
  }
  writers.end_scan(*scan, 1000);
  EXPECT_GT(writers.last_change("/w"), 1000);
}

TEST(WriterTracker, WhileSomebodyWorks_NoLookIsWorthAnything) {
  WriterTracker writers;
  const auto work = writers.begin();
  EXPECT_FALSE(writers.begin_scan("/w"));
}

TEST(WriterTracker, SharedPlaces_AreNeverStill) {
  WriterTracker writers;
  writers.share();
  EXPECT_FALSE(writers.begin_scan("/w"));
  const std::int64_t before = now();
  EXPECT_GE(writers.last_change("/w"), before);
}

TEST(WriterTracker, MovedWork_EndsOnce) {
  WriterTracker writers;
  auto first = writers.begin();
  {
    const auto second = std::move(first);
  }
  EXPECT_TRUE(writers.begin_scan("/w"));
}

}  // namespace
}  // namespace cloche::agent
