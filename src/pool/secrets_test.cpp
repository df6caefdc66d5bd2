#include "pool/secrets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace cloche::pool {
namespace {

using testing::HasSubstr;
using testing::Not;

auth::AccessTable book() {
  auth::AccessTable access;
  access.set(auth::Resource::secret, "GRADERS", auth::AccessList({"graders"}));
  access.set(auth::Resource::secret, "EVERYONES", auth::AccessList::all());
  access.set(auth::Resource::secret, "CLOSED", auth::AccessList());
  return access;
}

Secrets secrets() { return Secrets({{"GRADERS", "g"}, {"EVERYONES", "e"}, {"CLOSED", "c"}, {"UNLISTED", "u"}}); }

TEST(Secrets, ListedTenant_GetsTheValue) {
  const auto values = secrets().of_claim({"GRADERS", "EVERYONES"}, "graders", book());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(*values, (Secrets::Values{{"GRADERS", "g"}, {"EVERYONES", "e"}}));
}

TEST(Secrets, ForeignAndMissing_ReadTheSame) {
  const Secrets known = secrets();
  for (const std::string name : {"GRADERS", "CLOSED", "UNLISTED", "MISSING"}) {
    const auto values = known.of_claim({name}, "acme", book());
    ASSERT_FALSE(values) << name;
    EXPECT_EQ(values.error().code, ErrorCode::not_found);
    EXPECT_EQ(values.error().message, "no such secret: '" + name + "'");
  }
}

TEST(Secrets, EnvironmentOfTheProcess_IsNeverLookedUp) {
  ASSERT_EQ(::setenv("CLOCHE_TEST_CANARY", "canary", 1), 0);
  for (const std::string name : {"CLOCHE_TEST_CANARY", "PATH", "HOME"}) {
    EXPECT_EQ(secrets().of_claim({name}, "graders", book()).error().code, ErrorCode::not_found) << name;
    EXPECT_EQ(secrets().of_claim({name}, "", auth::AccessTable::of_trusted_callers()).error().code,
              ErrorCode::not_found);
    EXPECT_EQ(secrets().of_profile({name}).error().code, ErrorCode::not_found) << name;
  }
  ::unsetenv("CLOCHE_TEST_CANARY");
}

TEST(Secrets, OneOfSeveralIsForeign_NoneIsGiven) {
  EXPECT_FALSE(secrets().of_claim({"EVERYONES", "GRADERS"}, "acme", book()));
}

TEST(Secrets, NamedTwice_IsGivenOnce) {
  EXPECT_EQ(secrets().of_claim({"EVERYONES", "EVERYONES"}, "acme", book())->size(), 1u);
  EXPECT_FALSE(secrets().of_claim({"GRADERS", "GRADERS"}, "acme", book()));
}

TEST(Secrets, OddNames_AreInvalidAndNotRepeated) {
  const std::string with_nul("A\0B", 3);
  for (const std::string& name : {std::string(), std::string("A=B"), with_nul, std::string("A\nB"),
                                  std::string(129, 'x'), std::string(1 << 20, 'y')}) {
    const auto values = secrets().of_claim({"GRADERS", name}, "acme", book());
    ASSERT_FALSE(values);
    EXPECT_EQ(values.error().code, ErrorCode::invalid_argument);
    EXPECT_LT(values.error().message.size(), 200u);
    EXPECT_THAT(values.error().message, Not(HasSubstr("GRADERS")));
  }
}

TEST(Secrets, OfAProfile_NeedNoListOfTheirOwn) {
  EXPECT_EQ(*secrets().of_profile({"UNLISTED", "CLOSED"}), (Secrets::Values{{"UNLISTED", "u"}, {"CLOSED", "c"}}));
  EXPECT_TRUE(secrets().check({"UNLISTED"}));
  EXPECT_EQ(secrets().check({"UNLISTED", "MISSING"}).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace cloche::pool
