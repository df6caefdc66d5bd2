#include "relay/retained.hpp"

#include <gtest/gtest.h>

#include <random>

namespace cloche::relay {
namespace {

TEST(Retained, MoreThanItsCapacity_IsTakenInPart) {
  Retained kept(10);
  EXPECT_EQ(kept.append("0123456"), 7u);
  EXPECT_EQ(kept.append("789abc"), 3u);
  EXPECT_EQ(kept.append("d"), 0u);
  EXPECT_EQ(kept.room(), 0u);
  EXPECT_EQ(kept.from(0, 100), "0123456789");
}

TEST(Retained, ReleasedBytes_MakeRoomAndKeepTheOffsets) {
  Retained kept(10);
  kept.append("0123456789");
  ASSERT_TRUE(kept.release_to(4));
  EXPECT_EQ(kept.append("abcdef"), 4u);
  EXPECT_EQ(kept.begin(), 4u);
  EXPECT_EQ(kept.end(), 14u);
  EXPECT_EQ(kept.from(8, 3), "89a");
  EXPECT_EQ(kept.from(14, 3), "");
}

TEST(Retained, OffsetOutside_IsAnErrorAndChangesNothing) {
  Retained kept(10);
  kept.append("0123456789");
  ASSERT_TRUE(kept.release_to(4));
  EXPECT_EQ(kept.release_to(3).error().code, ErrorCode::protocol);
  EXPECT_EQ(kept.release_to(11).error().code, ErrorCode::protocol);
  EXPECT_EQ(kept.release_to(UINT64_MAX).error().code, ErrorCode::protocol);
  EXPECT_EQ(kept.from(4, 100), "456789");
}

TEST(Retained, Forgotten_ContinuesAtItsBeginning) {
  Retained kept(10);
  kept.append("0123456789");
  ASSERT_TRUE(kept.release_to(6));
  kept.forget();
  EXPECT_EQ(kept.begin(), 6u);
  EXPECT_EQ(kept.end(), 6u);
  kept.append("6789");
  EXPECT_EQ(kept.from(6, 100), "6789");
}

TEST(Retained, RandomUse_IsThatOfAString) {
  std::mt19937 random(3);
  std::string all;
  Retained kept(1000);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 300, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    all.append(bytes, 0, kept.append(bytes));
    ASSERT_EQ(kept.end(), all.size());
    ASSERT_LE(kept.size(), 1000u);
    const std::uint64_t offset = kept.begin() + random() % (kept.size() + 1);
    ASSERT_EQ(kept.from(offset, 50), all.substr(offset, 50));
    if (random() % 3 == 0) {
      ASSERT_TRUE(kept.release_to(offset));
    }
  }
}

}  // namespace
}  // namespace cloche::relay
