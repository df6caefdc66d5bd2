// Codes of the Connect protocol.
#include "connect/code.hpp"

#include <gtest/gtest.h>

namespace cloche::connect {
namespace {

TEST(ConnectCode, EachCode_HasItsNameAndStatus) {
  EXPECT_EQ(to_string(Code::canceled), "canceled");
  EXPECT_EQ(status_of(Code::canceled), 499U);
  EXPECT_EQ(to_string(Code::not_found), "not_found");
  EXPECT_EQ(status_of(Code::not_found), 404U);
  EXPECT_EQ(status_of(Code::already_exists), 409U);
  EXPECT_EQ(status_of(Code::deadline_exceeded), 504U);
  EXPECT_EQ(status_of(Code::resource_exhausted), 429U);
  EXPECT_EQ(status_of(Code::unimplemented), 501U);
  EXPECT_EQ(status_of(Code::unavailable), 503U);
  EXPECT_EQ(to_string(Code::unauthenticated), "unauthenticated");
  EXPECT_EQ(status_of(Code::unauthenticated), 401U);
}

TEST(ConnectCode, EachName_IsParsedToItsCode) {
  for (int number = 0; number <= static_cast<int>(Code::unauthenticated); ++number) {
    const auto code = static_cast<Code>(number);
    EXPECT_EQ(parse_code(to_string(code)), code);
  }
  EXPECT_EQ(parse_code("cancelled"), std::nullopt);
  EXPECT_EQ(parse_code(""), std::nullopt);
}

TEST(ConnectCode, ErrorOfAServer_IsOneOfOurs) {
  EXPECT_EQ(error_code_of(Code::not_found), ErrorCode::not_found);
  EXPECT_EQ(error_code_of(Code::unauthenticated), ErrorCode::permission_denied);
  EXPECT_EQ(error_code_of(Code::unavailable), ErrorCode::unavailable);
  EXPECT_EQ(error_code_of(Code::unknown), ErrorCode::internal);
}

}  // namespace
}  // namespace cloche::connect
