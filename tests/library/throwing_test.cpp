// Every error code has its class of exception.
#include "library/throwing.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

template <class Class>
bool throws_exactly(ErrorCode code) {
  try {
    throw_error({code, "why"});
  } catch (const SandboxError& error) {
    return typeid(error) == typeid(Class) && std::string(error.what()) == "why";
  }
}

TEST(ThrowError, EachCode_HasItsClass) {
  EXPECT_TRUE(throws_exactly<SandboxTimeoutError>(ErrorCode::timeout));
  EXPECT_TRUE(throws_exactly<SandboxResourceError>(ErrorCode::limit_reached));
  EXPECT_TRUE(throws_exactly<SandboxNotFoundError>(ErrorCode::not_found));
  EXPECT_TRUE(throws_exactly<SandboxArgumentError>(ErrorCode::invalid_argument));
  EXPECT_TRUE(throws_exactly<SandboxLostError>(ErrorCode::sandbox_lost));
  EXPECT_TRUE(throws_exactly<SandboxUnavailableError>(ErrorCode::unsupported));
  EXPECT_TRUE(throws_exactly<SandboxUnavailableError>(ErrorCode::unavailable));
  EXPECT_TRUE(throws_exactly<SandboxError>(ErrorCode::internal));
}

TEST(ValueOrThrow, Value_IsHandedOn) { EXPECT_EQ(value_or_throw(Result<int>(7)), 7); }

}  // namespace
}  // namespace cloche
