// Errors as clients of the Connect protocol see them.
#include "dialect/e2b/connect/failure.hpp"

#include <gtest/gtest.h>

namespace cloche::dialect::e2b::connect {
namespace {

TEST(ConnectFailure, ErrorOfOurs_HasItsCodeAndMessage) {
  const Failure lost(Error{ErrorCode::sandbox_lost, "gone"});
  EXPECT_EQ(lost.code, Code::unavailable);
  EXPECT_EQ(lost.message, "gone");
  EXPECT_EQ(Failure(Error{ErrorCode::limit_reached, "full"}).code, Code::resource_exhausted);
  EXPECT_EQ(Failure(Error{ErrorCode::paused, "paused"}).code, Code::unavailable);
}

TEST(ConnectFailure, InternalError_IsNotShown) {
  const Failure inside(Error{ErrorCode::internal, "/secret/path"});
  EXPECT_EQ(inside.code, Code::internal);
  EXPECT_EQ(inside.message.find("secret"), std::string::npos);
  EXPECT_EQ(inside.detail, "/secret/path");
  EXPECT_EQ(Failure(Error{ErrorCode::protocol, "/secret/path"}).message.find("secret"), std::string::npos);
}

TEST(ConnectFailure, Json_HasCodeAndMessage) {
  EXPECT_EQ(to_json(Failure(Code::not_found, "no \"x\"")), R"({"code":"not_found","message":"no \"x\""})");
  EXPECT_EQ(to_json(Failure(Code::unknown, "\xff")), "{\"code\":\"unknown\",\"message\":\"\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace cloche::dialect::e2b::connect
