#include "database/database.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cloche {
namespace {

constexpr const char* first_step[] = {"CREATE TABLE things (name TEXT)"};
constexpr Database::Schema schema{.name = "test", .steps = first_step};

constexpr const char* three_steps[] = {"CREATE TABLE things (name TEXT)",
                                       "ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 7",
                                       "CREATE TABLE more (size INTEGER); INSERT INTO more SELECT size FROM things"};
constexpr Database::Schema later_schema{.name = "test", .steps = three_steps};

constexpr const char* broken_steps[] = {"CREATE TABLE things (name TEXT)",
                                        "ALTER TABLE things ADD COLUMN size INTEGER; SELECT nonsense FROM nothing"};
constexpr Database::Schema broken_schema{.name = "test", .steps = broken_steps};

// A file that is removed with the test.
class DatabaseFile : public testing::Test {
 public:
  DatabaseFile() {
    std::string made = testing::TempDir() + "cloche-database.XXXXXX";
    directory_ = ::mkdtemp(made.data());
  }
  ~DatabaseFile() override { std::filesystem::remove_all(directory_); }

 protected:
  std::string path() const { return directory_ + "/file.db"; }
  static void insert(Database& database, const std::string& name) {
    auto statement = database.prepare("INSERT INTO things (name) VALUES (?1)");
    ASSERT_TRUE(statement);
    statement->bind(1, name);
    ASSERT_TRUE(statement->run());
  }
  static std::int64_t number(Database& database, const char* sql) {
    auto query = database.prepare(sql);
    EXPECT_TRUE(query) << query.error().message;
    EXPECT_TRUE(*query->next());
    return query->number(0);
  }

  std::string directory_;
};

TEST_F(DatabaseFile, OfAnOlderVersion_IsBroughtUpStepByStepWithItsRows) {
  {
    auto old = Database::open(path(), schema);
    ASSERT_TRUE(old) << old.error().message;
    insert(**old, "kept");
  }
  auto database = Database::open(path(), later_schema);
  ASSERT_TRUE(database) << database.error().message;
  EXPECT_EQ(number(**database, "SELECT size FROM things WHERE name = 'kept'"), 7);
  EXPECT_EQ(number(**database, "SELECT count(*) FROM more"), 1);
  EXPECT_EQ(number(**database, "PRAGMA user_version"), 3);
}

TEST_F(DatabaseFile, StepThatFails_LeavesTheFileAsItWas) {
  {
    auto old = Database::open(path(), schema);
    ASSERT_TRUE(old);
    insert(**old, "kept");
  }
  EXPECT_FALSE(Database::open(path(), broken_schema));
  auto again = Database::open(path(), schema);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(number(**again, "PRAGMA user_version"), 1);
  EXPECT_EQ(number(**again, "SELECT count(*) FROM pragma_table_info('things')"), 1);
}

TEST_F(DatabaseFile, OfANewerVersion_IsRefusedAndLeftAlone) {
  {
    ASSERT_TRUE(Database::open(path(), later_schema));
  }
  const auto refused = Database::open(path(), schema);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("newer version of Cloche (schema 3, this one knows 1)"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(Database::open(path(), later_schema));
}

// The last writes are only in the write-ahead log, as after a crash.
TEST_F(DatabaseFile, PutAside_KeepsWhatWasWrittenLast) {
  const std::string copy = directory_ + "/crashed.db";
  {
    auto database = Database::open(path(), schema);
    ASSERT_TRUE(database);
    insert(**database, "last");
    for (const char* ending : {"", "-wal"}) std::filesystem::copy_file(path() + ending, copy + ending);
  }
  ASSERT_GT(std::filesystem::file_size(copy + "-wal"), 0u);
  ASSERT_TRUE(put_aside(copy, "the test", "it is said to be damaged"));
  std::string aside;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    const std::string name = entry.path().string();
    if (name.find("crashed.db.damaged-") != std::string::npos && !name.ends_with("-wal")) aside = name;
  }
  auto kept = Database::open(aside, schema);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(number(**kept, "SELECT count(*) FROM things WHERE name = 'last'"), 1);
  EXPECT_FALSE(std::filesystem::exists(copy + "-wal"));
}

TEST_F(DatabaseFile, WithADamagedPage_IsDamagedFromTheStart) {
  {
    auto database = Database::open(path(), schema);
    ASSERT_TRUE(database);
    for (int i = 0; i < 2000; ++i) insert(**database, "name " + std::to_string(i));
  }
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(2 * 4096);
  file << std::string(4096, 'x');
  file.close();
  const auto refused = Database::open(path(), schema);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::protocol) << refused.error().message;
}

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
