// Requests as workers do them: effective ids of the user, undumpable, real ids the agent's.
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/testing/file_tester.hpp"
#include "archive/testing/tar_bytes.hpp"
#include "support/missing.hpp"

namespace cloche::agent::testing {
namespace {

using namespace testing_support;  // tar_file and the like

using ::testing::ElementsAre;
using wire::FileOp;

class RightsTest : public BothWays {
 protected:
  void SetUp() override {
    if (!is_root()) CLOCHE_CANNOT_TEST("root", "only root can act as another user");
    make("mine");
    make("theirs");
    put("theirs/secret", "secret");
    ASSERT_EQ(::chown(at("theirs").c_str(), 0, 0), 0);
    ASSERT_EQ(::chmod(at("theirs").c_str(), 0755), 0);
    ASSERT_EQ(::chown(at("theirs/secret").c_str(), 0, 0), 0);
    ASSERT_EQ(::chmod(at("theirs/secret").c_str(), 0600), 0);
  }
};

TEST_P(RightsTest, OwnFiles_AreWrittenAndOwned) {
  auto request = beneath(FileOp::write, "mine/a/f");
  request.parents = true;
  ASSERT_THAT(run_as_user(request, "one").status, Succeeds());
  ASSERT_THAT(run_as_user(request, "two").status, Succeeds());
  EXPECT_EQ(get("mine/a/f"), "two");
  EXPECT_EQ(run(beneath(FileOp::stat, "mine/a/f")).entries()[0].uid, user_id);
  EXPECT_THAT(names("mine/a"), ElementsAre("f"));
}

TEST_P(RightsTest, FilesOfOthers_AreOutOfReach) {
  EXPECT_THAT(run_as_user(beneath(FileOp::read, "theirs/secret")).status, FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(run_as_user(beneath(FileOp::write, "theirs/secret"), "x").status,
              FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(run_as_user(beneath(FileOp::write, "theirs/new"), "x").status, FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(run_as_user(beneath(FileOp::mkdir, "theirs/new")).status, FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(run_as_user(beneath(FileOp::remove, "theirs/secret")).status, FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(run_as_user(beneath(FileOp::tar_in, "theirs"), tar_file("f", "x") + tar_end()).status,
              FailsWith(ErrorCode::permission_denied));
  auto move = beneath(FileOp::move, "theirs/secret");
  move.to = "mine/secret";
  EXPECT_THAT(run_as_user(move).status, FailsWith(ErrorCode::permission_denied));
  auto append = beneath(FileOp::write, "theirs/secret");
  append.append = true;
  EXPECT_THAT(run_as_user(append, "x").status, FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(names("theirs"), ElementsAre("secret"));
  EXPECT_EQ(get("theirs/secret"), "secret");
}

TEST_P(RightsTest, ReadOnlyFile_IsRefusedByEveryWayOfWriting) {
  const auto as_it_was = [&] { return get("mine/f") == "text" && mode("mine/f") == 0444U; };
  ASSERT_THAT(run_as_user(beneath(FileOp::write, "mine/f"), "text").status, Succeeds());
  ASSERT_EQ(::chmod(at("mine/f").c_str(), 0444), 0);
  auto request = beneath(FileOp::write, "mine/f");
  EXPECT_THAT(run_as_user(request, "x").status, FailsWith(ErrorCode::permission_denied));
  request.mode = 0644;
  EXPECT_THAT(run_as_user(request, "x").status, FailsWith(ErrorCode::permission_denied));
  request.append = true;
  EXPECT_THAT(run_as_user(request, "x").status, FailsWith(ErrorCode::permission_denied));
  const std::string archive = tar_file("new", "n") + tar_file("f", "x") + tar_end();
  EXPECT_THAT(run_as_user(beneath(FileOp::tar_in, "mine"), archive).status,
              FailsSaying(ErrorCode::permission_denied, "f"));
  auto edit = beneath(FileOp::edit, "mine/f");
  edit.pattern = "text";
  edit.expected = 1;
  EXPECT_THAT(run_as_user(edit).status, FailsWith(ErrorCode::permission_denied));
  link("f", "mine/link");
  EXPECT_THAT(run_as_user(beneath(FileOp::write, "mine/link"), "x").status, FailsWith(ErrorCode::permission_denied));
  EXPECT_TRUE(as_it_was());
  EXPECT_THAT(names("mine"), ElementsAre("f", "link"));
}

TEST_P(RightsTest, ReadOnlyFile_IsReplacedByForce) {
  for (const char* path : {"mine/f", "mine/g"}) {
    ASSERT_THAT(run_as_user(beneath(FileOp::write, path), "text").status, Succeeds());
    ASSERT_EQ(::chmod(at(path).c_str(), 0444), 0);
  }
  auto request = beneath(FileOp::write, "mine/f");
  request.force = true;
  EXPECT_THAT(run_as_user(request, "new").status, Succeeds());
  auto archive = beneath(FileOp::tar_in, "mine");
  archive.force = true;
  EXPECT_THAT(run_as_user(archive, tar_file("g", "new") + tar_end()).status, Succeeds());
  EXPECT_EQ(get("mine/f"), "new");
  EXPECT_EQ(get("mine/g"), "new");
}

TEST_P(RightsTest, FileOfAnother_IsNotReplacedInADirectoryOfOnesOwn) {
  put("mine/theirs", "secret");
  ASSERT_EQ(::chown(at("mine/theirs").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(at("mine/theirs").c_str(), 0644), 0);
  EXPECT_THAT(run_as_user(beneath(FileOp::write, "mine/theirs"), "x").status, FailsWith(ErrorCode::permission_denied));
  EXPECT_THAT(run_as_user(beneath(FileOp::tar_in, "mine"), tar_file("theirs", "x") + tar_end()).status,
              FailsWith(ErrorCode::permission_denied));
  EXPECT_EQ(get("mine/theirs"), "secret");
}

TEST_P(RightsTest, StickyDirectory_GuardsFilesOfOthers) {
  make("sticky");
  ASSERT_EQ(::chmod(at("sticky").c_str(), 01777), 0);
  put("sticky/theirs", "secret");
  ASSERT_EQ(::chown(at("sticky").c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(at("sticky/theirs").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(at("sticky/theirs").c_str(), 0666), 0);
  for (const FileOp op : {FileOp::write, FileOp::remove, FileOp::edit}) {
    auto request = beneath(op, "sticky/theirs");
    request.pattern = "secret";
    EXPECT_THAT(run_as_user(request, "x").status, FailsWith(ErrorCode::permission_denied)) << static_cast<int>(op);
  }
  auto move = beneath(FileOp::move, "sticky/theirs");
  move.to = "mine/f";
  EXPECT_THAT(run_as_user(move).status, FailsWith(ErrorCode::permission_denied));
  EXPECT_EQ(get("sticky/theirs"), "secret");
  EXPECT_THAT(names("sticky"), ElementsAre("theirs"));
}

TEST_P(RightsTest, HardLinkToFilesOfOthers_IsRefused) {
  make("mine/d");
  ASSERT_EQ(::link(at("theirs/secret").c_str(), at("mine/d/planted").c_str()), 0);
  EXPECT_FALSE(run_as_user(beneath(FileOp::tar_in, "mine/d"), tar_hardlink("copy", "planted") + tar_end()).status);
  EXPECT_THAT(names("mine/d"), ElementsAre("planted"));
}

TEST_P(RightsTest, Unpacking_IsDoneUnderTheUser) {
  ASSERT_THAT(
      run_as_user(beneath(FileOp::tar_in, "mine"), tar_directory("d") + tar_file("d/f", "x") + tar_end()).status,
      Succeeds());
  EXPECT_EQ(run(beneath(FileOp::stat, "mine/d/f")).entries()[0].uid, user_id);
  EXPECT_THAT(names("mine"), ElementsAre("d"));
}

CLOCHE_BOTH_WAYS(RightsTest);

}  // namespace
}  // namespace cloche::agent::testing
