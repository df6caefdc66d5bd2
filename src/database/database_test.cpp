#include "database/database.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

constexpr Database::Schema schema{.name = "test", .version = 1, .tables = "CREATE TABLE things (name TEXT)"};

TEST(Database, WrittenRows_AreReadAgain) {
  auto database = Database::open(":memory:", schema);
  ASSERT_TRUE(database) << database.error().message;
  auto insert = (*database)->prepare("INSERT INTO things VALUES (?1)");
  auto list = (*database)->prepare("SELECT name FROM things");
  ASSERT_TRUE(insert && list);
  for (const std::string& name : {std::string("a"), std::string("b\0c", 3)}) {
    insert->bind(1, name);
    ASSERT_TRUE(insert->run());
  }
  EXPECT_TRUE(*list->next());
  EXPECT_EQ(list->text(0), "a");
  EXPECT_TRUE(*list->next());
  EXPECT_EQ(list->text(0), std::string("b\0c", 3));
  EXPECT_FALSE(*list->next());
}

TEST(Database, FileThatIsFull_IsUnavailableAndNoFaultOfTheCaller) {
  auto database = Database::open(":memory:", schema);
  ASSERT_TRUE(database) << database.error().message;
  auto limit = (*database)->prepare("PRAGMA max_page_count = 3");
  ASSERT_TRUE(limit && limit->next());
  auto insert = (*database)->prepare("INSERT INTO things VALUES (?1)");
  ASSERT_TRUE(insert);
  insert->bind(1, std::string(100'000, 'x'));
  const auto written = insert->run();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::unavailable) << written.error().message;
}

TEST(Database, BelongsToItsFirstOwnerAlone) {
  auto database = Database::open(":memory:", schema);
  ASSERT_TRUE(database) << database.error().message;
  EXPECT_TRUE((*database)->belong_to("one"));
  EXPECT_TRUE((*database)->belong_to("one"));
  const auto refused = (*database)->belong_to("another");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::protocol);
}

}  // namespace
}  // namespace cloche
