// The small tools: files, private mounts, text.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/oci/draft.hpp"
#include "backend/oci/files.hpp"
#include "backend/oci/root/private_mounts.hpp"
#include "backend/oci/testing/workbench.hpp"
#include "core/utf8.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Draft, LeftByACrash_IsRemovedByTheNextMakerAndOneAtWorkIsNot) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(make_directories(scratch / "store/.draft-left/a", 0755));
  {
    const auto one = Draft::make(scratch / "store", 0755);
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_FALSE(path_exists(scratch / "store/.draft-left"));
    const auto two = Draft::make(scratch / "store", 0755);
    ASSERT_TRUE(two) << two.error().message;
    EXPECT_TRUE(path_exists(one->path()) && path_exists(two->path()));
    ASSERT_EQ(::rename(two->path().c_str(), (scratch / "store/complete").c_str()), 0);
  }
  EXPECT_THAT(list_directory(scratch / "store").value(), ::testing::ElementsAre("complete"));
}

TEST(Files, Tree_IsRemovedWithoutFollowingLinks) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(make_directories(scratch / "tree/a/b", 0755));
  ASSERT_TRUE(make_directories(scratch / "other", 0755));
  ASSERT_TRUE(write_file(scratch / "other/kept", "x", 0644));
  ASSERT_TRUE(write_file(scratch / "tree/a/b/file", "x", 0000));
  ASSERT_EQ(::symlink((scratch / "other").c_str(), (scratch / "tree/a/link").c_str()), 0);
  EXPECT_TRUE(remove_tree(scratch / "tree"));
  EXPECT_TRUE(remove_tree(scratch / "tree"));  // nothing there is fine
  EXPECT_FALSE(path_exists(scratch / "tree"));
  EXPECT_TRUE(path_exists(scratch / "other/kept"));
}

TEST(Files, TooLarge_IsNotRead) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_file(scratch / "f", std::string(5000, 'x'), 0644));
  EXPECT_EQ(read_file(scratch / "f", kib(4)).error().code, ErrorCode::limit_reached);
  EXPECT_EQ(read_file(scratch / "absent").error().code, ErrorCode::not_found);
}

TEST(Files, Umask_DoesNotChangeModes) {
  const ScratchDirectory scratch;
  const mode_t former = ::umask(0077);
  EXPECT_TRUE(make_directories(scratch / "a/b", 0711));
  EXPECT_TRUE(write_file_atomically(scratch / "a/f", "x", 0644));
  ::umask(former);
  struct stat about;
  ASSERT_EQ(::stat((scratch / "a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777u, 0711u);
  ASSERT_EQ(::stat((scratch / "a/f").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777u, 0644u);
  EXPECT_EQ(list_directory(scratch / "a").value(), (std::vector<std::string>{"b", "f"}));
}

TEST(Utf8, WellFormedOnly_IsText) {
  for (const char* good : {"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x94\x94"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80z"})
    EXPECT_FALSE(is_utf8(bad));
}

TEST(Stage, PlainSource_IsUsedAsItIs) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(make_directories(scratch / "open/data", 0755));
  Stage stage(scratch / "stage", "");
  EXPECT_EQ(stage.show(scratch / "open/data", PathKind::directory, Access::read_only).value(), scratch / "open/data");
  EXPECT_THAT(std::move(stage).take_steps(), IsEmpty());
}

TEST(Stage, ClosedOrMountedOver_IsShownElsewhere) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(make_directory(scratch / "closed", 0700));
  ASSERT_TRUE(make_directory(scratch / "closed/data", 0755));
  ASSERT_TRUE(make_directory(scratch / "plain", 0755));
  ASSERT_TRUE(make_directory(scratch / "stage", 0711));
  Stage stage(scratch / "stage", "1 2 0:3 / " + (scratch / "plain") + "/inner rw - ext4 /dev/x rw\n");
  EXPECT_EQ(stage.show(scratch / "closed/data", PathKind::directory, Access::read_only).value(), scratch / "stage/0");
  // Read-only for all of it, which a runtime would do for the topmost mount alone.
  EXPECT_EQ(stage.show(scratch / "plain", PathKind::directory, Access::read_only).value(), scratch / "stage/1");
  EXPECT_EQ(stage.show(scratch / "plain", PathKind::directory, Access::read_write).value(), scratch / "plain");
  const auto steps = std::move(stage).take_steps();
  EXPECT_EQ(steps.front().kind, MountStep::Kind::tmpfs);
  EXPECT_EQ(steps.back().kind, MountStep::Kind::protect);
}

TEST(Mountinfo, NameWithASpace_IsStillFoundBelow) {
  EXPECT_TRUE(has_mounts_below("1 2 0:3 / /a\\040b/inner rw - ext4 /dev/x rw\n", "/a b"));
  EXPECT_FALSE(has_mounts_below("1 2 0:3 / /a\\040b/inner rw - ext4 /dev/x rw\n", "/a"));
  EXPECT_FALSE(has_mounts_below("1 2 0:3 / /ab rw - ext4 /dev/x rw\n", "/a"));
}

TEST(Stage, ThatCannotBeReachedItself_SaysSo) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(make_directories(scratch / "closed/stage", 0700));
  Stage stage(scratch / "closed/stage", "");
  const auto shown = stage.show(scratch / "closed/stage", PathKind::directory, Access::read_only);
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, ErrorCode::permission_denied);
  EXPECT_THAT(shown.error().message, HasSubstr("run_dir"));
}

}  // namespace
}  // namespace cloche::oci
