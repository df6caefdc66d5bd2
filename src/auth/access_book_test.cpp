#include "auth/access_book.hpp"

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

TEST(AccessBook, ThingThatIsNotListed_IsForNoTenant) {
  const AccessBook book;
  EXPECT_FALSE(book.allows(Thing::secret, "KEY", "acme"));
  EXPECT_FALSE(book.allows(Thing::profile, "python", "acme"));
  EXPECT_FALSE(book.is_open(Thing::profile, "python"));
}

TEST(AccessBook, SameNameOfAnotherKind_IsAnotherThing) {
  AccessBook book;
  book.set(Thing::profile, "X", AccessList::all());
  book.set(Thing::secret, "X", AccessList({"graders"}));
  EXPECT_TRUE(book.allows(Thing::profile, "X", "acme"));
  EXPECT_FALSE(book.allows(Thing::secret, "X", "acme"));
  EXPECT_TRUE(book.allows(Thing::secret, "X", "graders"));
  EXPECT_TRUE(book.is_open(Thing::profile, "X"));
  EXPECT_FALSE(book.is_open(Thing::secret, "X"));
}

TEST(AccessBook, TrustedCallers_MayUseEverything) {
  const AccessBook book = AccessBook::of_trusted_callers();
  EXPECT_TRUE(book.allows(Thing::secret, "KEY", ""));
  EXPECT_TRUE(book.is_open(Thing::profile, "python"));
}

}  // namespace
}  // namespace cloche::auth
