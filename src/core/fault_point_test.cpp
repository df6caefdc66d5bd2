#include "core/fault_point.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <stdexcept>

namespace cloche {
namespace {

// No faults before or after.
class FaultPoint : public testing::Test {
 public:
  ~FaultPoint() override { (void)faults::set_faults(""); }

 protected:
  static void set(std::string_view setting) {
    const auto set = faults::set_faults(setting);
    ASSERT_TRUE(set) << set.error().message;
  }
};

void plain_step() { fault_point<"test.plain">(); }
Status fallible_step(Deadline deadline = Deadline::never()) { return fallible_point<"test.fallible">(deadline); }
TEST_F(FaultPoint, AllOfTheProgram_AreListedWithWhatCanHappenThere) {
  std::map<std::string_view, faults::Kind> listed;
  for (const auto& point : faults::all()) listed[point.name] = point.kind;
  EXPECT_EQ(listed.at("test.plain"), faults::Kind::plain);
  EXPECT_EQ(listed.at("test.fallible"), faults::Kind::fallible);
}

TEST_F(FaultPoint, ChosenPass_IsTheOneThatThrows) {
  set("test.plain:2=throw");
  EXPECT_NO_THROW(plain_step());
  EXPECT_THROW(plain_step(), std::runtime_error);
  EXPECT_NO_THROW(plain_step());
  EXPECT_EQ(faults::passes("test.plain"), 3u);
}

TEST_F(FaultPoint, FromAPassOn_EachThrows) {
  set("test.plain:2+=bad_alloc");
  EXPECT_NO_THROW(plain_step());
  EXPECT_THROW(plain_step(), std::bad_alloc);
  EXPECT_THROW(plain_step(), std::bad_alloc);
}

TEST_F(FaultPoint, StepThatCanFail_FailsOrHangsUntilItsDeadline) {
  set("test.fallible:1=fail,test.fallible:2=hang");
  EXPECT_EQ(fallible_step().error().code, ErrorCode::internal);
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(20));
  EXPECT_EQ(fallible_step(deadline).error().code, ErrorCode::timeout);
  EXPECT_TRUE(deadline.passed());
  EXPECT_TRUE(fallible_step());
}

TEST_F(FaultPoint, Kill_EndsTheProcess) {
  EXPECT_EXIT(
      {
        set("test.plain");
        plain_step();
      },
      testing::KilledBySignal(SIGKILL), "");
}

TEST_F(FaultPoint, SettingThatMakesNoSense_IsRefused) {
  for (const char* setting : {"test.plain=explode", "test.plain:0", "test.plain:x", ":2=throw", "=throw"})
    EXPECT_FALSE(faults::set_faults(setting)) << setting;
}

}  // namespace
}  // namespace cloche
