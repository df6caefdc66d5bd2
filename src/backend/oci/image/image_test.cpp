// Sandboxes from images of every kind, in places of every kind, with every runtime of this host.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/oci/files.hpp"
#include "backend/oci/testing/image_builder.hpp"
#include "backend/oci/testing/workbench.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Images : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    CLOCHE_NEEDS_RUNTIME(GetParam());
    backend_ = bench_.backend();
    spec_.runtime = GetParam();
  }
  void TearDown() override {
    if (sandbox_) bench_.destroy(*sandbox_);
    EXPECT_EQ(bench_.leftovers(), "");
  }

  // A small root file system with something of each kind.
  std::string make_root(const std::string& name) {
    const std::string root = bench_.scratch() / name;
    EXPECT_TRUE(make_directories(root + "/opt/tool", 0755));
    EXPECT_TRUE(make_directories(root + "/home/user/inner", 0755));
    EXPECT_TRUE(write_file(root + "/opt/tool/data", "from the image", 0644));
    EXPECT_TRUE(write_file(root + "/home/user/beside", "beside", 0644));
    EXPECT_TRUE(write_file(root + "/top", "top", 0644));
    EXPECT_EQ(::symlink("opt/tool", (root + "/tool").c_str()), 0);
    return root;
  }

  std::string ask(const std::string& command) {
    if (!sandbox_) sandbox_ = bench_.make(*backend_, spec_);
    return sandbox_ ? bench_.ask(*sandbox_, command) : "no sandbox";
  }

  Result<std::unique_ptr<Enclosure>> try_make() { return bench_.try_make(*backend_, spec_, Deadline::after(60s)); }

  Workbench bench_;
  std::unique_ptr<Backend> backend_;
  SandboxSpec spec_;
  std::unique_ptr<Enclosure> sandbox_;
};

TEST_P(Images, RootDirectory_IsSeenReadOnlyAndStaysUntouched) {
  spec_.image = make_root("image");
  EXPECT_EQ(ask("cat /opt/tool/data"), "from the image");
  EXPECT_EQ(ask("cat /tool/data"), "from the image");
  EXPECT_EQ(ask("cat /top"), "top");
  EXPECT_THAT(ask("as 1000 write /opt/tool/data"), StartsWith("error "));
  EXPECT_EQ(ask("as 1000 write /workspace/x"), "ok");
  EXPECT_EQ(ask("as 1000 write /tmp/x"), "ok");
  EXPECT_THAT(ask("open /usr/bin/env"), StartsWith("error 2 "));
  EXPECT_EQ(list_directory(spec_.image).value(), (std::vector<std::string>{"home", "opt", "tool", "top"}));
}

TEST_P(Images, EmptyRoot_IsEnough) {
  spec_.image = bench_.scratch() / "empty";
  ASSERT_TRUE(make_directory(spec_.image, 0755));
  EXPECT_EQ(ask("echo alive"), "alive");
  EXPECT_EQ(ask("as 1000 write /workspace/x"), "ok");
  EXPECT_EQ(ask("as 1000 write /var/tmp/x"), "ok");
}

TEST_P(Images, RootBelowAClosedDirectory_IsReachedAllTheSame) {
  const std::string closed = bench_.scratch() / "closed";
  ASSERT_TRUE(make_directory(closed, 0700));
  const std::string root = make_root("closed/image");
  spec_.image = root;
  EXPECT_EQ(ask("cat /opt/tool/data"), "from the image");
  EXPECT_THAT(ask("as 1000 write /opt/tool/data"), StartsWith("error "));
}

TEST_P(Images, StateBelowAClosedDirectory_WorksAllTheSame) {
  const std::string closed = bench_.scratch() / "closed";
  ASSERT_TRUE(make_directory(closed, 0700));
  OciOptions options = bench_.options();
  options.state_dir = closed + "/state";
  backend_ = bench_.backend(options);
  EXPECT_EQ(ask("echo alive"), "alive");
  EXPECT_EQ(ask("open /usr/bin/env"), "ok");
}

TEST_P(Images, StateOnARestrictedFileSystem_WorksAllTheSame) {
  const std::string place = bench_.scratch() / "restricted";
  ASSERT_TRUE(make_directory(place, 0755));
  ASSERT_EQ(::mount("tmpfs", place.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755"), 0);
  OciOptions options = bench_.options();
  options.state_dir = place + "/state";
  backend_ = bench_.backend(options);
  EXPECT_EQ(ask("echo alive"), "alive");
  EXPECT_EQ(ask("open /usr/bin/env"), "ok");
  bench_.destroy(*sandbox_);
  sandbox_.reset();
  EXPECT_EQ(::umount2(place.c_str(), MNT_DETACH), 0);
}

TEST_P(Images, WorkDirectoryDeepInTheImage_LeavesItsNeighboursVisible) {
  spec_.image = make_root("image");
  spec_.work_dir = "/home/user/app";
  EXPECT_EQ(ask("cat /home/user/beside"), "beside");
  EXPECT_EQ(ask("stat /home/user/app"), "40755 1000 1000");
  EXPECT_EQ(ask("as 1000 write /home/user/app/x"), "ok");
  EXPECT_THAT(ask("as 1000 write /home/user/y"), StartsWith("error "));
  EXPECT_FALSE(path_exists(spec_.image + "/home/user/app"));
}

TEST_P(Images, WorkDirectoryInTmp_Works) {
  spec_.work_dir = "/tmp/work/here";
  EXPECT_EQ(ask("as 1000 write /tmp/work/here/x"), "ok");
  EXPECT_EQ(ask("as 1000 write /tmp/x"), "ok");
}

TEST_P(Images, WorkDirectoryThroughALink_IsRefusedByName) {
  spec_.image = make_root("image");
  spec_.work_dir = "/tool/work";
  const auto made = try_make();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(made.error().message, HasSubstr("/tool"));
}

TEST_P(Images, Mounts_AreSeenWithTheirAccess) {
  const std::string closed = bench_.scratch() / "private";
  ASSERT_TRUE(make_directory(closed, 0700));
  const std::string source = closed + "/data";
  ASSERT_TRUE(make_directory(source, 0777));
  ASSERT_TRUE(write_file(source + "/file", "content", 0666));
  spec_.mounts = {{source, "/data/in", Access::read_only},
                  {source, "/workspace/out", Access::read_write},
                  {source + "/file", "/opt/one-file", Access::read_only}};
  EXPECT_EQ(ask("cat /data/in/file"), "content");
  EXPECT_EQ(ask("cat /opt/one-file"), "content");
  EXPECT_THAT(ask("as 1000 write /data/in/new"), StartsWith("error "));
  EXPECT_THAT(ask("as 1000 write /opt/one-file"), StartsWith("error "));
  EXPECT_EQ(ask("as 1000 write /workspace/out/new"), "ok");
  EXPECT_TRUE(path_exists(source + "/new"));
}

TEST_P(Images, MountThatIsNotThere_IsNamed) {
  spec_.mounts = {{"/nonexistent/data", "/data", Access::read_only}};
  const auto made = try_make();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::not_found);
  EXPECT_THAT(made.error().message, HasSubstr("/nonexistent/data"));
}

TEST_P(Images, DockerArchive_IsUnpackedOnce) {
  spec_.image = bench_.scratch() / "image.tar";
  ImageBuilder image;
  image.layer().directory("opt").file("opt/a", "lower").file("opt/b", "gone later");
  image.layer().file("opt/a", "upper").file("opt/.wh.b", "");
  image.write_docker_archive(spec_.image);
  EXPECT_EQ(ask("cat /opt/a"), "upper");
  EXPECT_THAT(ask("open /opt/b"), StartsWith("error 2 "));
  ASSERT_EQ(::truncate(spec_.image.c_str(), 0), 0);
  ImageBuilder().write_docker_archive(spec_.image);  // another image in the same place is another image
  bench_.destroy(*sandbox_);
  sandbox_.reset();
  EXPECT_THAT(ask("open /opt/a"), StartsWith("error 2 "));
}

TEST_P(Images, OciLayout_IsUnpackedAndChecked) {
  spec_.image = bench_.scratch() / "layout";
  ImageBuilder image;
  image.layer().file("etc/hello", "hello");
  image.write_oci_layout(spec_.image);
  EXPECT_EQ(ask("cat /etc/hello"), "hello");
}

TEST_P(Images, NothingThere_IsNotFoundByName) {
  spec_.image = "/nonexistent/image";
  const auto made = try_make();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::not_found);
  EXPECT_THAT(made.error().message, HasSubstr("/nonexistent/image"));
  spec_.image = "python:3.12-slim";
  EXPECT_EQ(try_make().error().code, ErrorCode::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Images, ::testing::Values("crun", "runc", "runsc"),
                         [](const auto& runtime) { return std::string(runtime.param); });

}  // namespace
}  // namespace cloche::oci
