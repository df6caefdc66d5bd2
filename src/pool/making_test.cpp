// Errors of callers whose sandbox could not be created.
#include "pool/making.hpp"

#include <gtest/gtest.h>

namespace cloche::pool {
namespace {

TEST(RefusalOfMaking, TroubleThatNoCallerBroughtAbout_IsUnavailable) {
  for (const ErrorCode code :
       {ErrorCode::internal, ErrorCode::protocol, ErrorCode::already_exists, ErrorCode::permission_denied,
        ErrorCode::limit_reached, ErrorCode::cancelled, ErrorCode::sandbox_lost, ErrorCode::unavailable}) {
    EXPECT_EQ(refusal_of_making({code, "why"}, "python", Callers::trusted).code, ErrorCode::unavailable)
        << to_string(code);
  }
}

TEST(RefusalOfMaking, WhatAnOperatorMustMend_IsToldAsItIs) {
  for (const ErrorCode code : {ErrorCode::invalid_argument, ErrorCode::not_found, ErrorCode::unsupported}) {
    const Error refusal = refusal_of_making({code, "the engine has no image 'x'"}, "python", Callers::trusted);
    EXPECT_EQ(refusal.code, code);
    EXPECT_EQ(refusal.message, "the engine has no image 'x'");
  }
}

TEST(RefusalOfMaking, OutOfTime_StaysThat) {
  EXPECT_EQ(refusal_of_making({ErrorCode::timeout, "why"}, "python", Callers::trusted).code, ErrorCode::timeout);
}

TEST(RefusalOfMaking, TroubleOutside_KeepsItsWords) {
  const Error refusal =
      refusal_of_making({ErrorCode::sandbox_lost, "process 1 was killed"}, "python", Callers::trusted);
  EXPECT_EQ(refusal.message, "no sandbox of profile 'python' could be created: process 1 was killed");
}

TEST(RefusalOfMaking, TroubleInside_IsLeftToTheLog) {
  const Error refusal =
      refusal_of_making({ErrorCode::internal, "/run/secret: Bad message"}, "python", Callers::trusted);
  EXPECT_EQ(refusal.message.find("/run/secret"), std::string::npos);
}

TEST(RefusalOfMaking, Strangers_AreToldNothingOfTheEngine) {
  for (const ErrorCode code : {ErrorCode::invalid_argument, ErrorCode::not_found, ErrorCode::unsupported,
                               ErrorCode::unavailable, ErrorCode::internal, ErrorCode::limit_reached}) {
    const Error refusal = refusal_of_making({code, "POST /containers/1/start: /run/x"}, "python", Callers::strangers);
    EXPECT_EQ(refusal.code, ErrorCode::unavailable) << to_string(code);
    EXPECT_EQ(refusal.message, "no sandbox of profile 'python' could be created; see the server log");
  }
  const Error late = refusal_of_making({ErrorCode::timeout, "POST /x"}, "python", Callers::strangers);
  EXPECT_EQ(late.code, ErrorCode::timeout);
  EXPECT_EQ(late.message.find("POST"), std::string::npos);
}

}  // namespace
}  // namespace cloche::pool
