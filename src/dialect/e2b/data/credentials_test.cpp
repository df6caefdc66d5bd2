#include "dialect/e2b/data/credentials.hpp"

#include <gtest/gtest.h>

#include "auth/tokens/token.hpp"
#include "core/base64.hpp"

namespace cloche::dialect::e2b {
namespace {

std::optional<std::string> user_in(const std::string& text) {
  return basic_user({{"Authorization", "Basic " + encode_base64(text)}});
}

TEST(BasicUser, Name_IsTakenWithoutThePassword) {
  EXPECT_EQ(user_in("root:"), "root");
  EXPECT_EQ(user_in("user:secret:x"), "user");
  EXPECT_EQ(user_in(":"), "");
  EXPECT_EQ(basic_user({}), "");
  EXPECT_EQ(basic_user({{"Authorization", "Bearer x"}}), "");
}

TEST(BasicUser, Nonsense_IsRefused) {
  EXPECT_FALSE(user_in("root"));
  EXPECT_FALSE(user_in("ro\not:"));
  EXPECT_FALSE(user_in(std::string(65, 'a') + ":"));
  EXPECT_FALSE(basic_user({{"Authorization", "Basic !"}}));
  EXPECT_FALSE(basic_user({{"authorization", "basic "}}));
}

TEST(OurTokens, AreNotSeenByPrograms) {
  const auth::Token token = auth::make_token();
  const http::Fields kept = without_our_tokens({{"x-access-token", "a"},
                                                {"E2B-Traffic-Access-Token", "b"},
                                                {"X-API-Key", token.e2b_key()},
                                                {"Authorization", "Bearer " + token.text()},
                                                {"X-Api-Key", "the app's"},
                                                {"Authorization", "Bearer the-apps"},
                                                {"Cookie", "c"}});
  const http::Fields expected{{"X-Api-Key", "the app's"}, {"Authorization", "Bearer the-apps"}, {"Cookie", "c"}};
  EXPECT_EQ(kept, expected);
}

}  // namespace
}  // namespace cloche::dialect::e2b
