// Making directories and moving names.
#include <fcntl.h>
#include <sys/stat.h>

#include <memory>

#include "agent/files/testing/file_tester.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::FileOp;

class MoveTest : public BothWays {
 protected:
  wire::FileRequest move(std::string_view from, std::string_view to) const {
    auto request = beneath(FileOp::move, from);
    request.to = to;
    return request;
  }
};

TEST_P(MoveTest, Mkdir_MakesOne_AndWithParentsAll) {
  auto request = beneath(FileOp::mkdir, "a");
  EXPECT_THAT(run(request).status, Succeeds());
  EXPECT_EQ(mode("a"), 0755U);
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::already_exists));
  request.path = "b/c/d/";
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::not_found));
  request.parents = true;
  request.mode = 0700;
  EXPECT_THAT(run(request).status, Succeeds());
  EXPECT_EQ(mode("b/c"), 0755U);
  EXPECT_EQ(mode("b/c/d"), 0700U);
  EXPECT_THAT(run(request).status, Succeeds());
  request.path = ".";
  EXPECT_THAT(run(request).status, Succeeds());
}

TEST_P(MoveTest, MkdirOverFile_IsRefused) {
  put("f");
  for (const bool parents : {false, true}) {
    auto request = beneath(FileOp::mkdir, "f");
    request.parents = parents;
    EXPECT_THAT(run(request).status, FailsWith(ErrorCode::already_exists));
  }
}

TEST_P(MoveTest, FailedMkdir_LeavesNoParents) {
  auto request = beneath(FileOp::mkdir, "a/b/" + std::string(300, 'x'));
  request.parents = true;
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_P(MoveTest, FileAndDirectory_AreMoved) {
  make("d");
  put("d/f", "content");
  EXPECT_THAT(run(move("d/f", "g")).status, Succeeds());
  EXPECT_EQ(get("g"), "content");
  EXPECT_THAT(run(move("d", "e/")).status, Succeeds());
  EXPECT_THAT(names(), ElementsAre("e", "g"));
}

TEST_P(MoveTest, ExistingFile_IsReplaced_DirectoryIsNot) {
  make("d");
  put("d/x");
  put("f", "new");
  put("g", "old");
  EXPECT_THAT(run(move("f", "g")).status, Succeeds());
  EXPECT_EQ(get("g"), "new");
  EXPECT_THAT(run(move("g", "d")).status, FailsSaying(ErrorCode::invalid_argument, "to d: is a directory"));
  EXPECT_THAT(run(move("d", "g")).status, FailsWith(ErrorCode::not_found));
}

TEST_P(MoveTest, ParentsOfTarget_AreMadeWhenAsked_AndUnmadeOnFailure) {
  put("f", "content");
  make("d");
  auto request = move("f", "x/y/g");
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::not_found));
  request.parents = true;
  EXPECT_THAT(run(request).status, Succeeds());
  EXPECT_EQ(get("x/y/g"), "content");
  request = move("d", "d/e/f");
  request.parents = true;
  EXPECT_THAT(run(request).status, FailsSaying(ErrorCode::invalid_argument, "into itself"));
  EXPECT_THAT(names("d"), IsEmpty());
}

TEST_P(MoveTest, LinkItself_IsMoved) {
  put("f");
  link("f", "l");
  EXPECT_THAT(run(move("l", "m")).status, Succeeds());
  EXPECT_THAT(names(), ElementsAre("f", "m"));
}

TEST_P(MoveTest, NameThatIsTaken_IsKeptWhenAsked) {
  put("f", "new");
  put("g", "old");
  make("d");
  make("e");
  auto request = move("f", "g");
  request.keep_existing = true;
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::already_exists));
  request.to = "d";
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::already_exists));
  request = move("d", "e");
  request.keep_existing = true;
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::already_exists));
  request = move("d", "d/x");
  request.keep_existing = true;
  EXPECT_THAT(run(request).status, FailsSaying(ErrorCode::invalid_argument, "into itself"));
  request = move("f", "h");
  request.keep_existing = true;
  EXPECT_THAT(run(request).status, Succeeds());
  EXPECT_EQ(get("g"), "old");
  EXPECT_THAT(names(), ElementsAre("d", "e", "g", "h"));
}

class MoveAcrossTest : public MoveTest {
 protected:
  void SetUp() override {
    make("disk");
    disk_ = std::make_unique<SmallDisk>(at("disk"), "size=256k,mode=0777");
    if (!disk_->ok()) CLOCHE_CANNOT_TEST("mounts", "a file system cannot be mounted here");
  }
  std::unique_ptr<SmallDisk> disk_;
};

TEST_P(MoveAcrossTest, File_IsMovedWithModeAndTime) {
  put("f", "content");
  ASSERT_EQ(::chmod(at("f").c_str(), 0750), 0);
  const timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("f").c_str(), times, 0), 0);
  ASSERT_THAT(run(move("f", "disk/g")).status, Succeeds());
  EXPECT_EQ(get("disk/g"), "content");
  EXPECT_EQ(mode("disk/g"), 0750U);
  EXPECT_EQ(run(beneath(FileOp::stat, "disk/g")).entries()[0].mtime_ns, 1000'000'000'000);
  EXPECT_THAT(names(), ElementsAre("disk"));
  EXPECT_THAT(names("disk"), ElementsAre("g"));
}

TEST_P(MoveAcrossTest, TakenName_IsKeptOrReplaced) {
  put("f", "new");
  put("disk/g", "old");
  make("disk/d");
  auto request = move("f", "disk/g");
  request.keep_existing = true;
  EXPECT_THAT(run(request).status, FailsWith(ErrorCode::already_exists));
  EXPECT_EQ(get("disk/g"), "old");
  EXPECT_TRUE(exists("f"));
  EXPECT_FALSE(run(move("f", "disk/d")).status);
  EXPECT_THAT(run(move("f", "disk/g")).status, Succeeds());
  EXPECT_EQ(get("disk/g"), "new");
  EXPECT_THAT(names("disk"), ElementsAre("d", "g"));
}

TEST_P(MoveAcrossTest, Tree_IsMovedWhole) {
  make("d/empty");
  make("d/e");
  put("d/e/f", "content");
  put("d/a\nb\xff", "odd");
  link("e/f", "d/l");
  link("/nowhere", "d/m");
  ASSERT_EQ(::chmod(at("d/e").c_str(), 0500), 0);
  ASSERT_THAT(run(move("d", "disk/d")).status, Succeeds());
  EXPECT_EQ(get("disk/d/e/f"), "content");
  EXPECT_EQ(get("disk/d/a\nb\xff"), "odd");
  EXPECT_EQ(mode("disk/d/e"), 0500U);
  EXPECT_TRUE(exists("disk/d/m"));
  EXPECT_THAT(names(), ElementsAre("disk"));
  EXPECT_THAT(names("disk"), ElementsAre("d"));
}

TEST_P(MoveAcrossTest, WhatDoesNotFitOrCannotBeCopied_LeavesBothAsTheyWere) {
  make("d");
  put("d/small", "x");
  put("d/large", std::string(1 << 20, 'x'));
  put("big", std::string(1 << 20, 'x'));
  EXPECT_THAT(run(move("d", "disk/d")).status, FailsWith(ErrorCode::limit_reached));
  EXPECT_THAT(run(move("big", "disk/big")).status, FailsWith(ErrorCode::limit_reached));
  make("p");
  ASSERT_EQ(::mkfifo(at("p/pipe").c_str(), 0666), 0);
  EXPECT_THAT(run(move("p", "disk/p")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(run(move("p/pipe", "disk/pipe")).status, FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(names("disk"), IsEmpty());
  EXPECT_THAT(names("d"), ElementsAre("large", "small"));
  EXPECT_TRUE(exists("p/pipe"));
}

TEST_P(MoveAcrossTest, MountPoint_IsNeitherMovedNorRemoved) {
  put("disk/f", "x");
  EXPECT_FALSE(run(move("disk", "other")).status);
  auto remove = beneath(FileOp::remove, "disk");
  remove.recursive = true;
  EXPECT_THAT(run(remove).status, FailsWith(ErrorCode::permission_denied));
  EXPECT_EQ(get("disk/f"), "x");
}

CLOCHE_BOTH_WAYS(MoveAcrossTest);

TEST_P(MoveTest, BadTarget_IsRefused) {
  put("f");
  for (const char* to : {"", "../f", "/tmp/f", "."}) {
    EXPECT_THAT(run(move("f", to)).status, FailsWith(ErrorCode::invalid_argument)) << to;
  }
  EXPECT_THAT(run(move("missing", "g")).status, FailsWith(ErrorCode::not_found));
  EXPECT_THAT(run(move(".", "g")).status, FailsWith(ErrorCode::invalid_argument));
}

CLOCHE_BOTH_WAYS(MoveTest);

}  // namespace
}  // namespace cloche::agent::testing
