// Removing files and trees.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/testing/file_tester.hpp"
#include "core/unique_fd.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::FileOp;

class RemoveTest : public BothWays {
 protected:
  wire::FileRequest all(std::string_view path) const {
    auto request = beneath(FileOp::remove, path);
    request.recursive = true;
    return request;
  }
};

TEST_P(RemoveTest, FileLinkAndEmptyDirectory_AreRemoved) {
  make("d");
  put("f");
  link("f", "l");
  for (const char* name : {"l", "d", "f"}) EXPECT_EQ(run(beneath(FileOp::remove, name)).last().files, 1U) << name;
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(RemoveTest, Missing_IsAnErrorUnlessAllowed) {
  EXPECT_THAT(run(beneath(FileOp::remove, "f")).status, FailsWith(ErrorCode::not_found));
  EXPECT_THAT(run(all("no/such/f")).status, FailsWith(ErrorCode::not_found));
  auto request = beneath(FileOp::remove, "no/f");
  request.missing_ok = true;
  const Answer answer = run(request);
  EXPECT_THAT(answer.status, Succeeds());
  EXPECT_EQ(answer.last().files, 0U);
}

TEST_P(RemoveTest, DirectoryWithContent_NeedsRecursive) {
  make("d");
  put("d/f");
  EXPECT_THAT(run(beneath(FileOp::remove, "d")).status, FailsSaying(ErrorCode::invalid_argument, "recursive"));
  EXPECT_TRUE(exists("d/f"));
  EXPECT_EQ(run(all("d")).last().files, 2U);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(RemoveTest, RootItself_IsRefused) {
  put("f");
  EXPECT_THAT(run(all(".")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(run({.op = FileOp::remove, .path = "/", .recursive = true}).status,
              FailsWith(ErrorCode::invalid_argument));
  EXPECT_TRUE(exists("f"));
}

TEST_P(RemoveTest, Links_AreNotFollowed) {
  make("outside");
  make("tree/d");
  put("outside/f", "kept");
  link("../outside", "tree/l");
  link("../../outside/f", "tree/d/l");
  EXPECT_EQ(run(all("tree")).last().files, 4U);
  EXPECT_EQ(get("outside/f"), "kept");
  link("outside", "l");
  EXPECT_THAT(run(all("l")).status, Succeeds());
  EXPECT_EQ(get("outside/f"), "kept");
  EXPECT_THAT(names(), ElementsAre("outside"));
}

TEST_P(RemoveTest, VeryDeepTree_IsRemoved) {
  make_deep(3000, "deep-directory", true);
  EXPECT_EQ(run(all("deep-directory")).last().files, 6000U);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(RemoveTest, WideTree_IsRemoved) {
  make("d");
  for (int i = 0; i < 5000; ++i) put("d/" + std::to_string(i));
  for (int i = 0; i < 50; ++i) {
    make("d/sub" + std::to_string(i));
    put("d/sub" + std::to_string(i) + "/f");
  }
  EXPECT_EQ(run(all("d")).last().files, 5101U);
}

TEST_P(RemoveTest, DirectoriesWithoutRights_AreRemovedByTheirOwner) {
  if (!is_root()) CLOCHE_CANNOT_TEST("root", "only root can act as another user");
  make("d/closed/below");
  make("d/readonly");
  make("d/blind");
  put("d/closed/below/f");
  put("d/readonly/f");
  put("d/blind/f");
  ::chmod(at("d/closed/below").c_str(), 0);
  ::chmod(at("d/closed").c_str(), 0);
  ::chmod(at("d/readonly").c_str(), 0555);
  ::chmod(at("d/blind").c_str(), 0311);
  ::chmod(at("d").c_str(), 0400);
  const Answer answer = run_as_user(all("d"));
  EXPECT_THAT(answer.status, Succeeds());
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(RemoveTest, WhatBelongsToAnother_StaysAndIsSaid) {
  if (!is_root()) CLOCHE_CANNOT_TEST("root", "only root can act as another user");
  make("d/theirs");
  put("d/theirs/f");
  put("d/mine");
  ASSERT_EQ(::chown(at("d/theirs").c_str(), 0, 0), 0);
  EXPECT_THAT(run_as_user(all("d")).status,
              FailsSaying(ErrorCode::permission_denied, "d/theirs/f: Permission denied (1 removed, 1 not)"));
  EXPECT_THAT(names("d"), ElementsAre("theirs"));
}

TEST_P(RemoveTest, OtherMountBelow_IsLeftAlone) {
  make("d/disk");
  put("d/f");
  const SmallDisk disk(at("d/disk"), "size=64k");
  if (!disk.ok()) CLOCHE_CANNOT_TEST("mounts", "a file system cannot be mounted here");
  put("d/disk/kept");
  EXPECT_THAT(run(all("d")).status, FailsSaying(ErrorCode::permission_denied, "mount point"));
  EXPECT_TRUE(exists("d/disk/kept"));
  EXPECT_FALSE(exists("d/f"));
}

CLOCHE_BOTH_WAYS(RemoveTest);

}  // namespace
}  // namespace cloche::agent::testing
