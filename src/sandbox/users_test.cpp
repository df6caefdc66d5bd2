#include "sandbox/users.hpp"

#include <gtest/gtest.h>

#include "support/result_matchers.hpp"

namespace cloche {
namespace {

using testing_support::FailsWith;

TEST(Users, NoName_IsTheUserOfThePrograms) {
  SandboxSpec spec;
  spec.user = "user";
  spec.uid = 1234;
  spec.gid = 77;
  spec.work_dir = "/home/user";
  for (const char* name : {"", "user"}) {
    const auto user = find_user(spec, name);
    ASSERT_TRUE(user);
    EXPECT_EQ(user->name, "user");
    EXPECT_EQ(user->uid, 1234U);
    EXPECT_EQ(user->gid, 77U);
    EXPECT_EQ(user->home, "/home/user");
  }
}

TEST(Users, OtherNames_AreNotFound) {
  for (const char* name : {"sandbo", "sandbox2", "Root", "0", "1000", " "})
    EXPECT_THAT(find_user(SandboxSpec{}, name), FailsWith(ErrorCode::not_found)) << name;
}

TEST(Users, Root_ExistsOnlyWhereItIsAllowed) {
  SandboxSpec spec;
  EXPECT_THAT(find_user(spec, "root"), FailsWith(ErrorCode::not_found));
  spec.root = true;
  const auto root = find_user(spec, "root");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->uid, 0U);
  EXPECT_EQ(root->gid, 0U);
  EXPECT_EQ(root->home, "/root");
}

}  // namespace
}  // namespace cloche
