// Listing directories and trees.
#include <sys/stat.h>

#include "agent/files/testing/file_tester.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::FileOp;
using wire::FileType;
using ListTest = FileTest;

TEST_F(ListTest, Directory_IsListedByName) {
  make("d/below");
  put("d/b", "12");
  put("d/.hidden");
  link("b", "d/a");
  ASSERT_EQ(::mkfifo(at("d/c").c_str(), 0666), 0);
  const Answer answer = run(beneath(FileOp::list, "d"));
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_THAT(answer.paths(), ElementsAre(".hidden", "a", "b", "below", "c"));
  const auto entries = answer.entries();
  EXPECT_EQ(entries[1].type, FileType::symlink);
  EXPECT_EQ(entries[1].link_target, "b");
  EXPECT_EQ(entries[2].size, 2U);
  EXPECT_EQ(entries[3].type, FileType::directory);
  EXPECT_EQ(entries[4].type, FileType::fifo);
  EXPECT_FALSE(answer.last().cut);
}

TEST_F(ListTest, Tree_IsListedFromTheTopDown_LinksNotFollowed) {
  make("d/x/y");
  put("d/x/y/f");
  put("d/x-1");
  link("x", "d/w");
  auto request = beneath(FileOp::list, "d");
  request.recursive = true;
  EXPECT_THAT(run(request).paths(), ElementsAre("w", "x", "x/y", "x/y/f", "x-1"));
}

TEST_F(ListTest, MoreThanTheCap_IsCutAndSaid) {
  make("d/a");
  for (int i = 0; i < 9; ++i) put("d/f" + std::to_string(i));
  auto request = beneath(FileOp::list, "d");
  request.max_results = 3;
  Answer answer = run(request);
  EXPECT_THAT(answer.paths(), ElementsAre("a", "f0", "f1"));
  EXPECT_TRUE(answer.last().cut);
  request.max_results = 10;
  answer = run(request);
  EXPECT_EQ(answer.paths().size(), 10U);
  EXPECT_FALSE(answer.last().cut);
  request.recursive = true;
  request.max_results = 5;
  EXPECT_TRUE(run(request).last().cut);
}

TEST_F(ListTest, ManyEntries_ComeInSeveralReplies_AndTheDefaultCapHolds) {
  for (int i = 0; i < 10'100; ++i) put("f" + std::to_string(100'000 + i));
  const Answer answer = run(beneath(FileOp::list, "."));
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_GT(answer.replies.size(), 19U);
  for (const auto& reply : answer.replies) EXPECT_LE(reply.entries.size(), 500U);
  const auto paths = answer.paths();
  ASSERT_EQ(paths.size(), 10'000U);
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
  EXPECT_EQ(paths.back(), "f109999");
  EXPECT_TRUE(answer.last().cut);
}

TEST_F(ListTest, DeepTree_IsListedToTheBottom) {
  make_deep(3000, "d", false);
  auto request = beneath(FileOp::list, ".");
  request.recursive = true;
  const Answer answer = run(request);
  ASSERT_THAT(answer.status, Succeeds());
  ASSERT_EQ(answer.paths().size(), 3000U);
  EXPECT_EQ(answer.paths().back().size(), 5999U);
}

TEST_F(ListTest, PathsOfAbsurdLength_AreCutAndSaid) {
  make_deep(300, std::string(250, 'x').c_str(), false);
  auto request = beneath(FileOp::list, ".");
  request.recursive = true;
  const Answer answer = run(request);
  ASSERT_THAT(answer.status, Succeeds());
  EXPECT_TRUE(answer.last().cut);
  EXPECT_LT(answer.paths().back().size(), 66'000U);
}

TEST_F(ListTest, UnreadableDirectoryBelow_IsSkippedAndCounted) {
  if (!is_root()) CLOCHE_CANNOT_TEST("root", "only root can act as another user");
  make("d/closed");
  put("d/f");
  ::chmod(at("d/closed").c_str(), 0);
  auto request = beneath(FileOp::list, "d");
  request.recursive = true;
  const Answer answer = run_as_user(request);
  EXPECT_THAT(answer.paths(), ElementsAre("closed", "f"));
  EXPECT_EQ(answer.last().skipped, 1U);
  request.path = "d/closed";
  EXPECT_THAT(run_as_user(request).status, FailsWith(ErrorCode::permission_denied));
}

TEST_F(ListTest, WhatIsNoDirectory_IsRefused) {
  put("f");
  EXPECT_THAT(run(beneath(FileOp::list, "f")).status, FailsSaying(ErrorCode::not_found, "not a directory"));
  EXPECT_THAT(run(beneath(FileOp::list, "missing")).status, FailsWith(ErrorCode::not_found));
  make("empty");
  EXPECT_THAT(run(beneath(FileOp::list, "empty")).paths(), IsEmpty());
}

}  // namespace
}  // namespace cloche::agent::testing
