#include "images/tidy_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/ids.hpp"
#include "support/missing.hpp"

namespace cloche::images {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class TidyRoot : public testing::Test {
 protected:
  TidyRoot() {
    put("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
    put("/etc/group", "root:x:0:\n");
  }
  ~TidyRoot() override { fs::remove_all(top_); }

  void put(const std::string& path, const std::string& text = "x") const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string text_of(const std::string& path) const {
    std::ifstream file(root_ + path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string top_ = fs::temp_directory_path() / ("cloche-tidy-" + random_hex(6));
  std::string root_ = top_ + "/root";
};

TEST_F(TidyRoot, Stars_StandForOneNameEach) {
  put("/usr/lib/a/x/jmods/f");
  put("/usr/lib/b/jmods/f");
  put("/usr/lib/c/other/f");
  EXPECT_THAT(expand_pattern(root_, "/usr/lib/*/jmods"), ElementsAre(EndsWith("/usr/lib/b/jmods")));
  EXPECT_THAT(expand_pattern(root_, "/usr/lib/?"), testing::SizeIs(3));
  EXPECT_THAT(expand_pattern(root_, "/no/such/*"), IsEmpty());
}

TEST_F(TidyRoot, LinkOnTheWay_IsNotFollowed) {
  fs::create_directories(top_ + "/host");
  std::ofstream(top_ + "/host/precious") << "x";
  fs::create_directories(root_ + "/var");
  fs::create_symlink(top_ + "/host", root_ + "/var/run");
  EXPECT_THAT(expand_pattern(root_, "/var/run/*"), IsEmpty());
  EXPECT_THAT(expand_pattern(root_, "/var/run"), ElementsAre(root_ + "/var/run"));
}

TEST_F(TidyRoot, Dropped_IsGoneAndTheRestStays) {
  if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "needs root");
  put("/usr/share/doc/a/copyright");
  put("/usr/share/data");
  put("/etc/resolv.conf");
  put("/etc/apt/sources.list");
  const auto tidied = tidy_root(root_, {"/usr/share/doc/*", "/not/there"});
  ASSERT_TRUE(tidied) << tidied.error().message;
  EXPECT_TRUE(fs::exists(root_ + "/usr/share/doc"));
  EXPECT_FALSE(fs::exists(root_ + "/usr/share/doc/a"));
  EXPECT_TRUE(fs::exists(root_ + "/usr/share/data"));
  EXPECT_FALSE(fs::exists(root_ + "/etc/resolv.conf"));
  EXPECT_FALSE(fs::exists(root_ + "/etc/apt"));
}

TEST_F(TidyRoot, User_IsAddedOnceWithHisDirectories) {
  if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "needs root");
  ASSERT_TRUE(tidy_root(root_, {}));
  ASSERT_TRUE(tidy_root(root_, {}));
  EXPECT_EQ(text_of("/etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nsandbox:x:1000:1000:sandbox:/workspace:/bin/sh\n");
  EXPECT_EQ(text_of("/etc/group"), "root:x:0:\nsandbox:x:1000:\n");
  for (const char* place : {"/workspace", "/app"}) {
    struct stat about;
    ASSERT_EQ(::stat((root_ + place).c_str(), &about), 0);
    EXPECT_EQ(about.st_uid, 1000u);
    EXPECT_EQ(about.st_gid, 1000u);
  }
}

TEST_F(TidyRoot, SetUidPrograms_LoseTheBit) {
  if (::geteuid() != 0) CLOCHE_CANNOT_TEST("root", "needs root");
  put("/usr/bin/su");
  ASSERT_EQ(::chmod((root_ + "/usr/bin/su").c_str(), 06755), 0);
  ASSERT_TRUE(tidy_root(root_, {}));
  struct stat about;
  ASSERT_EQ(::stat((root_ + "/usr/bin/su").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0755u);
}

}  // namespace
}  // namespace cloche::images
