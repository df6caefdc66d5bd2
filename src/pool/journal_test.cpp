#include "pool/journal.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

namespace cloche::pool {
namespace {

namespace fs = std::filesystem;

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    std::string pattern = (fs::temp_directory_path() / "journal-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
  }
  ~JournalTest() override { fs::remove_all(dir_); }

  std::string path() const { return (dir_ / "journal.db").string(); }
  std::unique_ptr<Journal> open() {
    auto journal = Journal::open(path());
    EXPECT_TRUE(journal) << journal.error().message;
    return std::move(*journal);
  }
  static JournalEntry entry(std::string name) {
    JournalEntry entry;
    entry.name = std::move(name);
    entry.profile = "python";
    entry.fingerprint = "f";
    return entry;
  }

  fs::path dir_;
};

TEST_F(JournalTest, EntriesOfAProcess_AreThereForTheNext) {
  {
    const auto journal = open();
    ASSERT_TRUE(journal->begin(entry("a")));
    ASSERT_TRUE(journal->begin(entry("b")));
    ASSERT_TRUE(journal->begin(entry("c")));
    ASSERT_TRUE(journal->set_state("b", JournalState::idle));
    ASSERT_TRUE(journal->lend("b", "red", 7, "me"));
    ASSERT_TRUE(journal->forget("c"));
  }
  const auto entries = open()->entries();
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].state, JournalState::making);
  EXPECT_FALSE((*entries)[0].tenant);
  EXPECT_EQ((*entries)[1].state, JournalState::lent);
  EXPECT_EQ((*entries)[1].tenant, "red");
  EXPECT_EQ((*entries)[1].uses, 7u);
  EXPECT_EQ((*entries)[1].profile, "python");
  EXPECT_EQ((*entries)[1].holder, "me");
}

TEST_F(JournalTest, TenantWithStrangeBytes_ComesBackAsItWas) {
  const std::string tenant("a\0'; DROP TABLE sandboxes; --\n", 30);
  const auto journal = open();
  ASSERT_TRUE(journal->begin(entry("a")));
  ASSERT_TRUE(journal->lend("a", tenant, 1, ""));
  const auto entries = journal->entries();
  ASSERT_TRUE(entries);
  EXPECT_EQ((*entries)[0].tenant, tenant);
}

TEST_F(JournalTest, DamagedFile_IsPutAsideAndANewOneBegun) {
  std::ofstream(path()) << "this is no database, and long enough that nobody takes it for an empty one";
  const auto journal = open();
  ASSERT_TRUE(journal->begin(entry("a")));
  int aside = 0;
  for (const auto& file : fs::directory_iterator(dir_)) {
    aside += file.path().string().find(".damaged-") != std::string::npos;
  }
  EXPECT_EQ(aside, 1);
}

TEST_F(JournalTest, FileOfANewerVersion_IsRefusedAndLeftAlone) {
  open();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "PRAGMA user_version = 99", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  const auto refused = Journal::open(path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_TRUE(fs::exists(path()));
}

TEST_F(JournalTest, DirectoryThatIsNotThere_IsAnErrorThatNamesIt) {
  const auto refused = Journal::open((dir_ / "none" / "journal.db").string());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("none/journal.db"), std::string::npos);
}

}  // namespace
}  // namespace cloche::pool
