#include "auth/guarded_file.hpp"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>

#include "auth/testing/scratch.hpp"
#include "auth/watched_file.hpp"
#include "support/missing.hpp"

namespace cloche::auth {
namespace {

using testing::file_text;
using testing::HandClock;
using testing::put_file;
using testing::ScratchDir;
using namespace std::chrono_literals;

constexpr FileRule secret_rule{.secrecy = Secrecy::secret, .links = Links::refused, .most_bytes = 100};
constexpr FileRule open_rule{.secrecy = Secrecy::only_intact, .links = Links::followed, .most_bytes = 100};

ErrorCode code_of(const auto& result) { return result ? ErrorCode::internal : result.error().code; }

TEST(GuardedFile, OfTheOwnerAlone_IsRead) {
  const ScratchDir dir;
  put_file(dir / "f", std::string(100, 'x'));
  const auto file = read_guarded(dir / "f", secret_rule);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->content.size(), 100U);
  EXPECT_EQ(file->stamp, *stamp_of(dir / "f", Links::refused));
}

TEST(GuardedFile, SecretOpenToOthers_IsRefusedInEachWay) {
  const ScratchDir dir;
  for (const unsigned mode : {0644U, 0640U, 0604U, 0620U, 0602U, 0610U, 0601U, 0666U}) {
    put_file(dir / "f", "x", mode);
    EXPECT_EQ(code_of(read_guarded(dir / "f", secret_rule)), ErrorCode::permission_denied) << mode;
  }
  put_file(dir / "f", "x", 0400);
  EXPECT_TRUE(read_guarded(dir / "f", secret_rule));
}

TEST(GuardedFile, OnlyIntact_MayBeReadButNotWrittenByOthers) {
  const ScratchDir dir;
  put_file(dir / "f", "x", 0644);
  EXPECT_TRUE(read_guarded(dir / "f", open_rule)->others_can_read());
  for (const unsigned mode : {0664U, 0646U}) {
    put_file(dir / "f", "x", mode);
    EXPECT_EQ(code_of(read_guarded(dir / "f", open_rule)), ErrorCode::permission_denied) << mode;
  }
}

TEST(GuardedFile, OfAnotherUser_IsRefused) {
  if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "only root can give files away");
  const ScratchDir dir;
  put_file(dir / "f", "x");
  ASSERT_EQ(::chown((dir / "f").c_str(), 12345, 0), 0);
  EXPECT_EQ(code_of(read_guarded(dir / "f", secret_rule)), ErrorCode::permission_denied);
}

TEST(GuardedFile, WhatIsNoPlainFile_IsRefusedAtOnce) {
  const ScratchDir dir;
  EXPECT_EQ(code_of(read_guarded(dir / "none", secret_rule)), ErrorCode::not_found);
  EXPECT_EQ(code_of(read_guarded("", secret_rule)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(read_guarded(std::string("a\0b", 3), secret_rule)), ErrorCode::invalid_argument);
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(code_of(read_guarded(dir / "fifo", secret_rule)), ErrorCode::invalid_argument);
  ASSERT_EQ(::mkdir((dir / "dir").c_str(), 0700), 0);
  EXPECT_EQ(code_of(read_guarded(dir / "dir", secret_rule)), ErrorCode::invalid_argument);
  put_file(dir / "big", std::string(101, 'x'));
  EXPECT_EQ(code_of(read_guarded(dir / "big", secret_rule)), ErrorCode::invalid_argument);
}

TEST(GuardedFile, Link_IsFollowedOnlyWhereTheRuleSaysSo) {
  const ScratchDir dir;
  put_file(dir / "f", "x");
  std::filesystem::create_symlink("f", dir / "link");
  EXPECT_EQ(code_of(read_guarded(dir / "link", secret_rule)), ErrorCode::invalid_argument);
  EXPECT_TRUE(read_guarded(dir / "link", open_rule));
}

TEST(ReplaceGuarded, Replacement_IsPrivateLaterAndLeavesNothingElse) {
  const ScratchDir dir;
  const std::string path = dir / "f";
  ASSERT_TRUE(replace_guarded(path, "one"));
  const auto first = *stamp_of(path, Links::refused);
  EXPECT_EQ(first.mode & 07777, 0600U);
  // A leftover of a writer that was killed, and an old file from the future.
  put_file(path + ".new", "leftover", 0666);
  const timespec future[2] = {{.tv_sec = 4'000'000'000, .tv_nsec = 0},
                              {.tv_sec = 4'000'000'000, .tv_nsec = 999'999'999}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), future, 0), 0);
  ASSERT_TRUE(replace_guarded(path, "two"));
  EXPECT_EQ(file_text(path), "two");
  EXPECT_EQ(stamp_of(path, Links::refused)->modified_ns, 4'000'000'001LL * 1'000'000'000);
  EXPECT_EQ(code_of(stamp_of(path + ".new", Links::refused)), ErrorCode::not_found);
}

TEST(ReplaceGuarded, QuickSuccession_ChangesTheStampEachTime) {
  const ScratchDir dir;
  const std::string path = dir / "f";
  ASSERT_TRUE(replace_guarded(path, "0"));
  for (int i = 1; i < 20; ++i) {
    const auto before = *stamp_of(path, Links::refused);
    ASSERT_TRUE(replace_guarded(path, std::to_string(i % 10)));
    ASSERT_LT(before.modified_ns, stamp_of(path, Links::refused)->modified_ns);
  }
}

TEST(ReplaceGuarded, WhereThereIsNoDirectory_SaysSo) {
  const ScratchDir dir;
  EXPECT_EQ(code_of(replace_guarded(dir / "no/f", "x")), ErrorCode::not_found);
}

TEST(FileLock, HeldByAnother_TimesOutAndIsFreeAfterwards) {
  const ScratchDir dir;
  {
    const auto held = FileLock::take(dir / "f", 0ms);
    ASSERT_TRUE(held);
    EXPECT_EQ(code_of(FileLock::take(dir / "f", 20ms)), ErrorCode::timeout);
  }
  EXPECT_TRUE(FileLock::take(dir / "f", 0ms));
}

struct WatchedFileTest : ::testing::Test {
  std::string now() {
    const auto text = watched.get();
    return text ? **text : "error " + std::string(to_string(text.error().code));
  }

  ScratchDir dir;
  HandClock clock;
  int parsed = 0;
  WatchedFile<std::string> watched{dir / "f", secret_rule,
                                   [this](const GuardedFile& file) -> Result<std::string> {
                                     ++parsed;
                                     if (file.content == "bad") return fail(ErrorCode::invalid_argument, "bad");
                                     return file.content;
                                   },
                                   [this] { return clock.steady; }};
};

TEST_F(WatchedFileTest, UnchangedFile_IsReadOnce) {
  put_file(dir / "f", "one");
  for (int i = 0; i < 5; ++i, clock.pass(1s)) EXPECT_EQ(now(), "one");
  EXPECT_EQ(parsed, 1);
}

TEST_F(WatchedFileTest, ChangedFile_IsReadAgainAfterASecond) {
  put_file(dir / "f", "one");
  EXPECT_EQ(now(), "one");
  put_file(dir / "f", "two");
  clock.pass(999ms);
  EXPECT_EQ(now(), "one");
  clock.pass(1ms);
  EXPECT_EQ(now(), "two");
}

TEST_F(WatchedFileTest, FileThatBecomesBad_IsAnErrorUntilItIsGood) {
  put_file(dir / "f", "one");
  EXPECT_EQ(now(), "one");
  clock.pass(1s);
  put_file(dir / "f", "bad");
  EXPECT_EQ(now(), "error invalid_argument");
  clock.pass(1s);
  std::filesystem::remove(dir / "f");
  EXPECT_EQ(now(), "error not_found");
  clock.pass(1s);
  put_file(dir / "f", "two");
  EXPECT_EQ(now(), "two");
}

TEST_F(WatchedFileTest, FileThatIsOpenedToOthers_IsNotBelievedAnyMore) {
  put_file(dir / "f", "one");
  EXPECT_EQ(now(), "one");
  ASSERT_EQ(::chmod((dir / "f").c_str(), 0644), 0);
  clock.pass(1s);
  EXPECT_EQ(now(), "error permission_denied");
  ASSERT_EQ(::chmod((dir / "f").c_str(), 0600), 0);
  clock.pass(1s);
  EXPECT_EQ(now(), "one");
}

}  // namespace
}  // namespace cloche::auth
