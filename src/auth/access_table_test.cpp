#include "auth/access_table.hpp"

#include <gtest/gtest.h>

namespace cloche::auth {
namespace {

TEST(AccessList, MadeFromNothing_AllowsNoTenant) {
  EXPECT_FALSE(AccessList().allows("acme"));
  EXPECT_FALSE(AccessList().allows(""));
  EXPECT_FALSE(AccessList().is_all());
}

TEST(AccessList, ListedTenants_AreAllowedAndNoOthers) {
  const AccessList list({"acme", "graders"});
  EXPECT_TRUE(list.allows("acme"));
  EXPECT_TRUE(list.allows("graders"));
  for (const char* other : {"", "acm", "acme ", "acme2", "ACME", "all", "*"}) EXPECT_FALSE(list.allows(other)) << other;
}

TEST(AccessList, All_AllowsTenantsThatAreNotKnownYet) {
  EXPECT_TRUE(AccessList::all().allows("anyone"));
  EXPECT_TRUE(AccessList::all().is_all());
}

TEST(AccessList, TenantCalledAll_OpensNothing) {
  const AccessList list({"all"});
  EXPECT_FALSE(list.is_all());
  EXPECT_FALSE(list.allows("acme"));
}

TEST(AccessTable, ThingThatIsNotListed_IsForNoTenant) {
  const AccessTable table;
  EXPECT_FALSE(table.allows(Resource::secret, "KEY", "acme"));
  EXPECT_FALSE(table.allows(Resource::profile, "python", "acme"));
  EXPECT_FALSE(table.is_open(Resource::profile, "python"));
}

TEST(AccessTable, SameNameOfAnotherKind_IsAnotherThing) {
  AccessTable table;
  table.set(Resource::profile, "X", AccessList::all());
  table.set(Resource::secret, "X", AccessList({"graders"}));
  EXPECT_TRUE(table.allows(Resource::profile, "X", "acme"));
  EXPECT_FALSE(table.allows(Resource::secret, "X", "acme"));
  EXPECT_TRUE(table.allows(Resource::secret, "X", "graders"));
  EXPECT_TRUE(table.is_open(Resource::profile, "X"));
  EXPECT_FALSE(table.is_open(Resource::secret, "X"));
}

TEST(AccessTable, TrustedCallers_MayUseEverything) {
  const AccessTable table = AccessTable::of_trusted_callers();
  EXPECT_TRUE(table.allows(Resource::secret, "KEY", ""));
  EXPECT_TRUE(table.is_open(Resource::profile, "python"));
}

}  // namespace
}  // namespace cloche::auth
