#include "agent/egress/name_table.hpp"

#include <gtest/gtest.h>

namespace cloche::agent {
namespace {

TEST(NameTable, Name_HasOneAddressOfTheRangeAndTheAddressMeansTheName) {
  NameTable names;
  const auto one = names.address_of("one.test");
  const auto other = names.address_of("other.test");
  EXPECT_EQ(one, 0xC612'0001u);
  EXPECT_NE(one, other);
  EXPECT_EQ(names.address_of("one.test"), one);
  EXPECT_TRUE(wire::means_a_name(one));
  EXPECT_EQ(names.name_of(one), "one.test");
  EXPECT_EQ(names.name_of(other), "other.test");
}

TEST(NameTable, AddressThatMeansNoName_IsUnknown) {
  NameTable names;
  EXPECT_EQ(names.name_of(0xC612'0001), std::nullopt);
  EXPECT_FALSE(wire::means_a_name(0xC611'FFFF));
  EXPECT_TRUE(wire::means_a_name(0xC613'FFFF));
  EXPECT_FALSE(wire::means_a_name(0xC614'0000));
}

TEST(NameTable, NameTooMany_ReplacesTheOneThatWasNotUsedForLongest) {
  NameTable names;
  const auto first = names.address_of("first.test");
  const auto second = names.address_of("second.test");
  for (std::size_t i = 2; i < NameTable::most_names; ++i) names.address_of(std::to_string(i) + ".test");
  EXPECT_EQ(names.name_of(first), "first.test");  // used again
  const auto last = names.address_of("last.test");
  EXPECT_EQ(names.name_of(first), "first.test");
  EXPECT_EQ(names.name_of(second), std::nullopt);
  EXPECT_NE(last, second) << "an address means no other name soon";
}

TEST(NameTable, AnyNumberOfNames_StaysInTheRangeAndIsUnambiguous) {
  NameTable names;
  const auto kept = names.address_of("kept.test");
  for (std::uint32_t i = 0; i < 3 * NameTable::addresses / 2; ++i) {
    const std::string name = std::to_string(i) + ".test";
    const auto address = names.address_of(name);
    ASSERT_TRUE(wire::means_a_name(address));
    ASSERT_NE(address, kept);
    ASSERT_EQ(names.name_of(address), name);
    ASSERT_EQ(names.name_of(kept), "kept.test");
  }
}

}  // namespace
}  // namespace cloche::agent
