// Directories and a user for programs, in a system that another made.
#include "agent/prepare/prepare.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cloche::agent {
namespace {

class Prepare : public testing::Test {
 protected:
  Prepare() {
    std::string name = (std::filesystem::temp_directory_path() / "cloche-prepare.XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(root_ + "/etc");
    write("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n");
    write("etc/group", "root:x:0:\n");
  }
  ~Prepare() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(root_ + "/" + name) << content;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(root_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Preparation wanted(const std::string& work_dir = "/work/deep") const {
    Preparation made;
    made.user = {.name = "worker", .uid = own_id(), .gid = own_gid(), .home = root_ + "/home/worker"};
    made.work_dir = root_ + work_dir;
    return made;
  }
  Status run(const Preparation& made) const { return prepare(made, root_ + "/etc"); }
  // Without root only one's own ids can be given.
  static std::uint32_t own_id() { return ::geteuid() == 0 ? 4321 : ::geteuid(); }
  static std::uint32_t own_gid() { return ::geteuid() == 0 ? 4322 : ::getegid(); }

  std::string root_;
};

TEST_F(Prepare, MissingUserAndDirectories_AreMade) {
  const auto done = run(wanted());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_NE(read("etc/passwd").find("worker:x:" + std::to_string(own_id())), std::string::npos);
  EXPECT_NE(read("etc/passwd").find("root:x:0:0"), std::string::npos);
  EXPECT_NE(read("etc/group").find("worker:x:" + std::to_string(own_gid())), std::string::npos);
  for (const char* name : {"/work/deep", "/home/worker"}) {
    struct stat about;
    ASSERT_EQ(::stat((root_ + name).c_str(), &about), 0) << name;
    EXPECT_EQ(about.st_uid, own_id());
    EXPECT_EQ(about.st_gid, own_gid());
    EXPECT_EQ(about.st_mode & 07777, 0755U);
  }
  // Again is fine, and changes nothing.
  const std::string before = read("etc/passwd");
  EXPECT_TRUE(run(wanted()));
  EXPECT_EQ(read("etc/passwd"), before);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/etc/passwd.cloche"));
}

TEST_F(Prepare, DirectoryOfTheSystem_IsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has directories of another user";
  std::filesystem::create_directory(root_ + "/usr");
  write("usr/program", "x");
  const auto done = run(wanted("/usr"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::already_exists);
  struct stat about;
  ASSERT_EQ(::stat((root_ + "/usr").c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, 0U);
  // An empty one is taken.
  std::filesystem::create_directory(root_ + "/empty");
  EXPECT_TRUE(run(wanted("/empty")));
}

TEST_F(Prepare, LinkInPlaceOfTheDirectory_IsRefused) {
  std::filesystem::create_directory_symlink(root_ + "/etc", root_ + "/work");
  EXPECT_FALSE(run(wanted("/work")));
}

TEST_F(Prepare, FileInPlaceOfTheDirectory_IsRefused) {
  write("work", "x");
  EXPECT_FALSE(run(wanted("/work")));
  EXPECT_FALSE(run(wanted("/work/deep")));
}

TEST(PrepareArguments, WrongOnes_AreRefused) {
  const auto parsed = [](std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return parse_preparation(static_cast<int>(arguments.size()), arguments.data());
  };
  EXPECT_TRUE(parsed({"worker", "1000", "1000", "/home/worker", "/work"}));
  EXPECT_FALSE(parsed({"worker", "1000", "1000", "/home/worker"}));
  EXPECT_FALSE(parsed({"worker", "0", "1000", "/home/worker", "/work"}));
  EXPECT_FALSE(parsed({"worker", "1000", "0", "/home/worker", "/work"}));
  EXPECT_FALSE(parsed({"worker", "70000", "1000", "/home/worker", "/work"}));
  EXPECT_FALSE(parsed({"worker", "1000x", "1000", "/home/worker", "/work"}));
  EXPECT_FALSE(parsed({"a:b", "1000", "1000", "/home/worker", "/work"}));
  EXPECT_FALSE(parsed({"a\nb", "1000", "1000", "/home/worker", "/work"}));
  EXPECT_FALSE(parsed({"worker", "1000", "1000", "home", "/work"}));
  EXPECT_FALSE(parsed({"worker", "1000", "1000", "/home", "/work/../etc"}));
  EXPECT_FALSE(parsed({"worker", "1000", "1000", "/", "/work"}));
}

}  // namespace
}  // namespace cloche::agent
