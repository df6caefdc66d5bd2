#include "core/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace cloche {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return fail(ErrorCode::invalid_argument, "odd");
  return n / 2;
}

Result<int> quarter(int n) {
  CLOCHE_TRY(const int once, half(n));
  CLOCHE_CHECK(half(once));
  return half(once);
}

TEST(Try, Success_GoesOn) { EXPECT_EQ(quarter(12).value(), 3); }

TEST(Try, Failure_ReturnsItsError) { EXPECT_EQ(quarter(6).error().message, "odd"); }

TEST(Error, StepAdded_StandsInFront) {
  EXPECT_EQ(half(1).error().at("halve").at("compute").message, "compute: halve: odd");
}

TEST(ErrnoError, KnownNumbers_HaveFittingCodes) {
  EXPECT_EQ(errno_error("open", ENOENT).code, ErrorCode::not_found);
  EXPECT_EQ(errno_error("open", EACCES).code, ErrorCode::permission_denied);
  EXPECT_EQ(errno_error("open", ENOENT).message, "open: No such file or directory");
}

TEST(ErrnoError, OutOfDescriptors_IsNoLimitOfTheCallers) {
  for (const int number : {EMFILE, ENFILE}) EXPECT_EQ(errno_error("pipe", number).code, ErrorCode::unavailable);
  EXPECT_NE(errno_error("pipe", EMFILE).message.find("LimitNOFILE"), std::string::npos);
}

}  // namespace
}  // namespace cloche
