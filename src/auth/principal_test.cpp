#include "auth/principal.hpp"

#include <gtest/gtest.h>

#include <string>

#include "auth/auth_error.hpp"
#include "auth/names.hpp"

namespace cloche::auth {
namespace {

const Principal user{.tenant = "acme", .role = Role::user, .token_id = "t"};
const Principal admin{.tenant = "ops", .role = Role::admin, .token_id = "t"};

TEST(Names, WithinTheRule_AreValid) {
  for (const std::string& name : {std::string("a"), std::string("A-1_b.c"), std::string("..."), std::string("-"),
                                  std::string(".hidden"), std::string(64, 'x')}) {
    EXPECT_TRUE(check_tenant(name)) << name;
    EXPECT_TRUE(check_session_id(name)) << name;
  }
}

TEST(Names, OutsideTheRule_AreRefusedWithoutBeingRepeated) {
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string(65, 'x'),
                                  std::string("a/b"), std::string("a b"), std::string("a\0b", 3), std::string("a\n"),
                                  std::string("ä"), std::string("a%2f"), std::string("a:b")}) {
    const auto tenant = check_tenant(name);
    ASSERT_FALSE(tenant) << name;
    EXPECT_EQ(tenant.error().code, ErrorCode::invalid_argument);
    const auto session = check_session_id(name);
    ASSERT_FALSE(session) << name;
    if (name.size() > 2) {
      EXPECT_EQ(session.error().message.find(name), std::string::npos);
    }
  }
}

TEST(Roles, OtherWords_AreNone) {
  EXPECT_EQ(parse_role("user"), Role::user);
  EXPECT_EQ(parse_role("admin"), Role::admin);
  for (const char* word : {"", "Admin", "ADMIN", "root", "admin ", "users"}) EXPECT_FALSE(parse_role(word)) << word;
}

TEST(AuthorizeTenant, NoneWantedOrTheOwn_IsTheOwn) {
  EXPECT_EQ(authorize_tenant(user, std::nullopt)->name(), "acme");
  EXPECT_EQ(authorize_tenant(user, "acme")->name(), "acme");
  EXPECT_EQ(authorize_tenant(admin, std::nullopt)->name(), "ops");
}

TEST(AuthorizeTenant, UserWhoWantsAnother_IsDeniedWhateverTheName) {
  for (const char* wanted : {"other", "ACME", "acme ", "", "..", "acme/../other"}) {
    const auto tenant = authorize_tenant(user, wanted);
    ASSERT_FALSE(tenant) << wanted;
    EXPECT_EQ(tenant.error().code, ErrorCode::permission_denied) << wanted;
  }
}

TEST(AuthorizeTenant, Admin_MayNameAnyThatCanBeOne) {
  EXPECT_EQ(authorize_tenant(admin, "acme")->name(), "acme");
  EXPECT_EQ(authorize_tenant(admin, "../etc").error().code, ErrorCode::invalid_argument);
}

TEST(AuthorizeTenant, PrincipalWithABadTenant_GetsNothing) {
  EXPECT_FALSE(authorize_tenant(Principal{.tenant = ""}, std::nullopt));
  EXPECT_FALSE(authorize_tenant(Principal{.tenant = ".."}, ".."));
}

TEST(AuthorizedTenant, OfARecord_MustBeAName) {
  EXPECT_EQ(AuthorizedTenant::of_record("acme")->name(), "acme");
  EXPECT_FALSE(AuthorizedTenant::of_record("a/b"));
}

TEST(RequireAdmin, User_IsDenied) {
  EXPECT_TRUE(require_admin(admin));
  EXPECT_EQ(require_admin(user).error().code, ErrorCode::permission_denied);
}

TEST(AuthError, AsError_LeavesTheDetailOut) {
  const AuthError refusal = refuse(Reason::unavailable, "/var/lib/x: damaged").error();
  const Error error = refusal;
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_EQ(error.message.find("/var"), std::string::npos);
  EXPECT_EQ(Error(refuse(Reason::unknown).error()).code, ErrorCode::permission_denied);
}

TEST(AuthError, GoesUpAsAResult) {
  const auto outer = []() -> Result<int> {
    CLOCHE_TRY(const int value, Authenticated<int>(refuse(Reason::expired)));
    return value;
  };
  EXPECT_EQ(outer().error().code, ErrorCode::permission_denied);
}

}  // namespace
}  // namespace cloche::auth
