#include "images/root_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/ids.hpp"
#include "support/missing.hpp"

namespace cloche::images {
namespace {

namespace fs = std::filesystem;

class RootStoreTest : public testing::Test {
 protected:
  ~RootStoreTest() override { fs::remove_all(state_); }

  Draft draft_with(const std::string& content) {
    Draft draft = store_.draft(CancelToken(Deadline::after(std::chrono::seconds(10)))).value();
    fs::create_directories(draft.root() + "/usr");
    std::ofstream(draft.root() + "/usr/file") << content;
    return draft;
  }
  std::string content() const {
    std::string text;
    std::ifstream(store_.path_of("python") + "/usr/file") >> text;
    return text;
  }
  std::size_t generations() const {
    const fs::directory_iterator all(state_ + "/images/roots");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  std::string state_ = fs::temp_directory_path() / ("cloche-images-" + random_hex(6));
  RootStore store_{state_};
};

TEST_F(RootStoreTest, NeverMade_IsNotFound) { EXPECT_FALSE(store_.find("python")); }

TEST_F(RootStoreTest, Installed_IsFoundWithItsInputs) {
  const auto built = store_.install(draft_with("one"), "python", "abc");
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->path, state_ + "/images/python");
  EXPECT_GT(built->bytes, 0u);
  EXPECT_EQ(store_.find("python")->inputs, "abc");
  EXPECT_EQ(content(), "one");
}

TEST_F(RootStoreTest, NewerOne_ReplacesTheOld) {
  ASSERT_TRUE(store_.install(draft_with("one"), "python", "1"));
  ASSERT_TRUE(store_.install(draft_with("two"), "python", "2"));
  EXPECT_EQ(content(), "two");
  EXPECT_EQ(generations(), 1u);
}

TEST_F(RootStoreTest, OldOneThatIsMounted_StaysUntilItIsNot) {
  if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "needs root");
  ASSERT_TRUE(store_.install(draft_with("one"), "python", "1"));
  const std::string source = fs::canonical(store_.path_of("python") + "/usr");
  const std::string target = state_ + "/seen";
  fs::create_directories(target);
  int ready[2];
  int over[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(over), 0);
  const pid_t user = ::fork();
  if (user == 0) {
    ::close(over[1]);
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) == 0;
    char byte = mounted ? 'y' : 'n';
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(over[0], &byte, 1);
    ::_exit(0);
  }
  char answer = 'n';
  EXPECT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_TRUE(store_.install(draft_with("two"), "python", "2"));
  EXPECT_EQ(content(), "two");
  EXPECT_EQ(generations(), 2u);
  EXPECT_TRUE(fs::exists(source + "/file"));
  for (const int fd : {ready[0], ready[1], over[0], over[1]}) ::close(fd);
  ::waitpid(user, nullptr, 0);
  EXPECT_TRUE(store_.install(draft_with("three"), "python", "3"));
  EXPECT_EQ(generations(), 1u);
}

TEST_F(RootStoreTest, DraftThatIsDropped_LeavesNothing) {
  std::string path;
  {
    const Draft draft = draft_with("x");
    path = draft.path();
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(generations(), 0u);
}

TEST_F(RootStoreTest, DraftOfAKilledBuild_IsRemovedByTheNext) {
  (void)draft_with("x");
  const std::string left = state_ + "/images/.build-0123456789abcdef";
  fs::create_directories(left + "/rootfs/usr");
  (void)draft_with("y");
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(RootStoreTest, WhileADraftIsThere_TheNextWaits) {
  const Draft draft = draft_with("x");
  const auto second = store_.draft(CancelToken(Deadline::after(std::chrono::milliseconds(120))));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::timeout);
}

TEST_F(RootStoreTest, SomethingElseAtItsPlace_IsLeftAlone) {
  fs::create_directories(store_.path_of("python") + "/mine");
  const auto built = store_.install(draft_with("one"), "python", "1");
  ASSERT_FALSE(built);
  EXPECT_THAT(built.error().message, testing::HasSubstr("another file"));
  EXPECT_TRUE(fs::exists(store_.path_of("python") + "/mine"));
  EXPECT_EQ(generations(), 0u);
}

}  // namespace
}  // namespace cloche::images
