#include "disk/ledger.hpp"

#include <gtest/gtest.h>

namespace cloche::disk {
namespace {

constexpr Ledger::Room room{mib(100), mib(60)};

TEST(Ledger, SizesTogether_AreBounded) {
  Ledger ledger;
  EXPECT_TRUE(ledger.promise("a", mib(60), room));
  EXPECT_TRUE(ledger.promise("b", mib(40), room));
  const Status third = ledger.promise("c", mib(1), room);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::limit_reached);
  EXPECT_NE(third.error().message.find("disk.max_total"), std::string::npos);
  EXPECT_EQ(ledger.promised(), mib(100));
}

TEST(Ledger, WhatIsReleased_IsFreeAgain) {
  Ledger ledger;
  EXPECT_TRUE(ledger.promise("a", mib(60), room));
  ledger.release("a");
  ledger.release("a");
  ledger.release("never");
  EXPECT_EQ(ledger.promised(), Bytes{});
  EXPECT_TRUE(ledger.promise("b", mib(60), room));
}

TEST(Ledger, MoreThanTheHostHas_IsRefused) {
  Ledger ledger;
  const Status refused = ledger.promise("a", mib(61), room);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit_reached);
  EXPECT_EQ(ledger.promised(), Bytes{});
  EXPECT_FALSE(ledger.promise("a", Bytes{~0ULL}, room));
}

TEST(Ledger, WhatIsFoundAgain_CountsOverTheLimitToo) {
  Ledger ledger;
  ledger.note("a", mib(90));
  ledger.note("a", mib(90));
  ledger.note("b", mib(90));
  EXPECT_EQ(ledger.promised(), mib(180));
  EXPECT_FALSE(ledger.promise("c", mib(1), room));
}

}  // namespace
}  // namespace cloche::disk
