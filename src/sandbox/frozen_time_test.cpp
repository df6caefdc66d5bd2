#include "sandbox/frozen_time.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace cloche {
namespace {

using namespace std::chrono_literals;

TEST(PatientDeadline, NeverFrozen_IsTheDeadline) {
  const FrozenTime frozen;
  const Deadline deadline = Deadline::after(1h);
  EXPECT_EQ(PatientDeadline(frozen, deadline).current().time(), deadline.time());
  EXPECT_TRUE(PatientDeadline(frozen, Deadline::after(0s)).passed());
}

TEST(PatientDeadline, WhileFrozen_DoesNotPass) {
  FrozenTime frozen;
  const PatientDeadline patient(frozen, Deadline::after(1ms));
  frozen.set_frozen(true);
  std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(patient.passed());
  EXPECT_TRUE(patient.current().is_never());
}

TEST(PatientDeadline, AfterThaw_IsLaterByTheTimeThatItWasFrozen) {
  FrozenTime frozen;
  frozen.set_frozen(true);
  std::this_thread::sleep_for(2ms);
  frozen.set_frozen(false);
  const Deadline deadline = Deadline::after(1h);
  const PatientDeadline patient(frozen, deadline);
  EXPECT_EQ(patient.current().time(), deadline.time());  // what was before does not count
  const auto before = frozen.total();
  frozen.set_frozen(true);
  frozen.set_frozen(true);
  std::this_thread::sleep_for(2ms);
  frozen.set_frozen(false);
  frozen.set_frozen(false);
  EXPECT_EQ(patient.current().time(), deadline.time() + (frozen.total() - before));
  EXPECT_GE(frozen.total() - before, 2ms);
}

TEST(PatientDeadline, FarAway_StaysNever) {
  FrozenTime frozen;
  const PatientDeadline never(frozen, Deadline::never());
  const PatientDeadline nearly(frozen, Deadline::at(Deadline::never().time() - 1ns));
  frozen.set_frozen(true);
  std::this_thread::sleep_for(1ms);
  frozen.set_frozen(false);
  EXPECT_TRUE(never.current().is_never());
  EXPECT_TRUE(nearly.current().is_never());
}

}  // namespace
}  // namespace cloche
