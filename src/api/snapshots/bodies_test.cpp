// Bodies of snapshots and forks.
#include "api/snapshots/bodies.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace cloche::api {
namespace {

TEST(SnapshotBodies, Name_IsOptional) {
  EXPECT_EQ(read_new_snapshot(boost::json::parse("{}")).value(), "");
  EXPECT_EQ(read_new_snapshot(boost::json::parse(R"({"name": "n"})")).value(), "n");
  for (const char* wrong : {"[]", R"({"name": 1})", R"({"names": []})"}) {
    EXPECT_FALSE(read_new_snapshot(boost::json::parse(wrong))) << wrong;
  }
}

TEST(SnapshotBodies, CountOfForks_IsThatOfTheirIds) {
  EXPECT_EQ(read_fork(boost::json::parse("{}"))->count, 1U);
  EXPECT_EQ(read_fork(boost::json::parse(R"({"count": 100})"))->count, 100U);
  const auto named = read_fork(boost::json::parse(R"({"ids": ["a", "b"]})"));
  EXPECT_EQ(named->count, 2U);
  EXPECT_EQ(named->ids, (std::vector<std::string>{"a", "b"}));
  for (const char* wrong : {R"({"count": 0})", R"({"count": 101})", R"({"count": "1"})", R"({"ids": "a"})",
                            R"({"ids": [1]})", R"({"sessions": 1})"}) {
    EXPECT_FALSE(read_fork(boost::json::parse(wrong))) << wrong;
  }
}

TEST(SnapshotBodies, ForkThatFailed_SaysItsCode_ButNothingOfTheServersOwn) {
  const std::vector<Result<session::SessionInfo>> forks = {fail(ErrorCode::already_exists, "it exists"),
                                                           fail(ErrorCode::internal, "secret path")};
  const std::string text = boost::json::serialize(forks_json(forks));
  EXPECT_NE(text.find(R"({"error":{"code":"already_exists","message":"it exists"}})"), std::string::npos) << text;
  EXPECT_EQ(text.find("secret path"), std::string::npos);
  EXPECT_NE(text.find(R"("kept":"files")"), std::string::npos);
}

}  // namespace
}  // namespace cloche::api
