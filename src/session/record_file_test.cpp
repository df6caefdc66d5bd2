#include "session/record_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace cloche::session {
namespace {

Record record_of(const std::string& id) {
  Record record;
  record.key = {"tenant", id};
  record.options.profile = "session";
  record.made = true;
  return record;
}

class RecordFileTest : public testing::Test {
 protected:
  RecordFileTest() {
    std::string made = testing::TempDir() + "cloche-records.XXXXXX";
    directory_ = ::mkdtemp(made.data());
  }
  ~RecordFileTest() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ + "/sessions.db"; }
  std::unique_ptr<RecordFile> open() const {
    auto file = RecordFile::open(path());
    EXPECT_TRUE(file) << file.error().message;
    return file ? std::move(*file) : nullptr;
  }
  // SQL on the file itself, as nothing of ours would do it.
  std::string ask(const char* sql) const {
    static constexpr const char* steps[] = {"", "", ""};
    auto database = Database::open(path(), {.name = "test", .steps = steps});
    EXPECT_TRUE(database) << database.error().message;
    auto query = (*database)->prepare(sql);
    EXPECT_TRUE(query) << query.error().message;
    auto row = query->next();
    EXPECT_TRUE(row) << row.error().message;
    return row && *row ? query->text(0) : "";
  }

  std::string directory_;
};

TEST_F(RecordFileTest, Volumes_AreKept) {
  SessionOptions options;
  options.volumes = {{"tenant", "data", "/volumes/data", Access::read_write}, {"tenant", "sets", ""}};
  const auto read = read_options(write_options(options));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->volumes, options.volumes);
  EXPECT_TRUE(read_options(write_options({}))->volumes.empty());
}

TEST_F(RecordFileTest, NotesAndExpiry_AreKept) {
  SessionOptions options;
  options.metadata = {{"user", "7"}, {"ключ", ""}};
  options.attributes = {{"e2b.template", "base"}};
  options.expires = WallTime(std::chrono::milliseconds(1'900'000'000'123));
  options.on_expiry = OnExpiry::pause;
  options.snapshot = "snap";
  const auto read = read_options(write_options(options));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->metadata, options.metadata);
  EXPECT_EQ(read->attributes, options.attributes);
  EXPECT_EQ(read->expires, options.expires);
  EXPECT_EQ(read->on_expiry, OnExpiry::pause);
  EXPECT_EQ(read->snapshot, "snap");
  const auto plain = read_options(write_options({}));
  EXPECT_TRUE(plain->metadata.empty() && plain->attributes.empty() && !plain->expires);
  EXPECT_EQ(plain->on_expiry, OnExpiry::end);
}

TEST_F(RecordFileTest, PausedSession_IsPausedForTheNextProcess) {
  const auto since = std::chrono::system_clock::from_time_t(1'900'000'000);
  {
    const auto file = open();
    Record paused = record_of("paused");
    paused.paused = since;
    ASSERT_TRUE(file->begin(paused));
    ASSERT_TRUE(file->begin(record_of("live")));
  }
  const auto file = open();
  auto records = file->all();
  ASSERT_TRUE(records) << records.error().message;
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ((*records)[0].paused, std::nullopt);
  EXPECT_EQ((*records)[1].paused, since);
  (*records)[1].paused.reset();
  ASSERT_TRUE(file->begin((*records)[1]));
  EXPECT_EQ((*file->all())[1].paused, std::nullopt);
}

TEST_F(RecordFileTest, RecordThatCannotBeRead_IsLostAloneAndKeptAside) {
  {
    const auto file = open();
    for (const char* id : {"one", "two", "three"}) ASSERT_TRUE(file->begin(record_of(id)));
  }
  ask("UPDATE sessions SET options = '{\"profile\": 7, \"left\": \"by a bug\"}' WHERE id = 'two'");
  {
    const auto file = open();
    const auto records = file->all();
    ASSERT_TRUE(records) << records.error().message;
    ASSERT_EQ(records->size(), 2u);
    EXPECT_EQ((*records)[0].key.id, "one");
    EXPECT_EQ((*records)[1].key.id, "three");
    // It does not come up again, and its name is free.
    ASSERT_EQ(file->all()->size(), 2u);
    EXPECT_TRUE(file->begin(record_of("two")));
    EXPECT_EQ(file->all()->size(), 3u);
  }
  EXPECT_EQ(ask("SELECT options FROM unreadable WHERE id = 'two'"), R"({"profile": 7, "left": "by a bug"})");
}

// As written by the previous version.
TEST_F(RecordFileTest, FileOfTheFirstVersion_IsReadAndBroughtUp) {
  {
    static constexpr const char* first[] = {
        "CREATE TABLE sessions (tenant TEXT NOT NULL, id TEXT NOT NULL, options TEXT NOT NULL, created INTEGER NOT "
        "NULL,"
        " made INTEGER NOT NULL, PRIMARY KEY (tenant, id)) STRICT, WITHOUT ROWID;"
        "INSERT INTO sessions VALUES ('tenant', 'old', '{\"profile\":\"session\",\"env\":{},\"secrets\":[]}', 1, 1)"};
    ASSERT_TRUE(Database::open(path(), {.name = "test", .steps = first}));
  }
  const auto records = open()->all();
  ASSERT_TRUE(records) << records.error().message;
  ASSERT_EQ(records->size(), 1u);
  EXPECT_EQ(records->front().key.id, "old");
  EXPECT_FALSE(records->front().paused);
}

}  // namespace
}  // namespace cloche::session
