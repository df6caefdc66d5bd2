#include "agent/prepare/pod.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace cloche::agent {
namespace {

Result<PodVolumes> parse(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  return parse_pod_volumes(static_cast<int>(arguments.size()), arguments.data());
}

TEST(PodVolumes, Arguments_AreRead) {
  const auto volumes = parse({"1073741825", "1000", "/workspace", "/.cloche", "/tmp", "/dev/shm"});
  ASSERT_TRUE(volumes) << volumes.error().message;
  EXPECT_EQ(volumes->uid, 1073741825U);
  EXPECT_EQ(volumes->gid, 1000U);
  EXPECT_EQ(volumes->work_dir, "/workspace");
  EXPECT_EQ(volumes->own, "/.cloche");
  EXPECT_EQ(volumes->shared, (std::vector<std::string>{"/tmp", "/dev/shm"}));
}

TEST(PodVolumes, ArgumentsThatAServerDoesNotSend_AreRejected) {
  EXPECT_FALSE(parse({"1000", "1000", "/workspace"}));
  EXPECT_FALSE(parse({"0", "1000", "/workspace", "/.cloche"}));
  EXPECT_FALSE(parse({"1000", "4294967295", "/workspace", "/.cloche"}));
  EXPECT_FALSE(parse({"1000", "-1", "/workspace", "/.cloche"}));
  EXPECT_FALSE(parse({"1000 ", "1000", "/workspace", "/.cloche"}));
}

class VolumesOfAKubelet : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "cloche-pod-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    for (const char* each : {"work", "own", "tmp"}) {
      std::filesystem::create_directory(root_ / each);
      ::chmod((root_ / each).c_str(), 0777);
    }
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  PodVolumes volumes() const {
    return {.uid = ::geteuid(),
            .gid = ::getegid(),
            .work_dir = root_ / "work",
            .shared = {root_ / "tmp"},
            .own = root_ / "own"};
  }
  mode_t mode_of(const char* name) const {
    struct stat about{};
    return ::stat((root_ / name).c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
  }

  std::filesystem::path root_;
};

TEST_F(VolumesOfAKubelet, Prepared_HaveTheModesOfASandbox) {
  const Status done = prepare_volumes(volumes());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(mode_of("work"), 0755U);
  EXPECT_EQ(mode_of("own"), 0700U);
  EXPECT_EQ(mode_of("tmp"), 01777U);
}

TEST_F(VolumesOfAKubelet, WorkDirectoryOfAnotherUser_IsGivenToIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "owners are changed as root";
  PodVolumes wanted = volumes();
  wanted.uid = 1073741825;
  wanted.gid = 1000;
  const Status done = prepare_volumes(wanted);
  ASSERT_TRUE(done) << done.error().message;
  struct stat about{};
  ASSERT_EQ(::stat((root_ / "work").c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, 1073741825U);
  EXPECT_EQ(about.st_gid, 1000U);
}

TEST_F(VolumesOfAKubelet, LinkInPlaceOfADirectory_IsRejected) {
  std::filesystem::remove(root_ / "tmp");
  std::filesystem::create_directory_symlink(root_ / "own", root_ / "tmp");
  EXPECT_FALSE(prepare_volumes(volumes()));
}

}  // namespace
}  // namespace cloche::agent
