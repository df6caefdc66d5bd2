// Making directories and moving names.
#include <sys/stat.h>

#include "agent/files/file_tester.hpp"

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

TEST_P(MoveTest, AcrossFileSystems_IsAClearError) {
  make("disk");
  const SmallDisk disk(at("disk"), "size=64k");
  if (!disk.ok()) GTEST_SKIP() << "needs the right to mount";
  put("f");
  EXPECT_THAT(run(move("f", "disk/f")).status, FailsSaying(ErrorCode::invalid_argument, "another file system"));
  EXPECT_TRUE(exists("f"));
}

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
