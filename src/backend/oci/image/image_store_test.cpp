// Archives and layouts, good and hostile, without any sandbox.
#include "backend/oci/image/image_store.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "backend/oci/files.hpp"
#include "backend/oci/image/layer_writer.hpp"
#include "backend/oci/testing/image_builder.hpp"
#include "backend/oci/testing/workbench.hpp"

namespace cloche::oci {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ImageStoreTest : public ::testing::Test {
 protected:
  Result<std::string> root_of(const std::string& image) {
    return store_.root_of(image, CancelToken(Deadline::after(60s)));
  }
  Result<std::string> unpack(const ImageBuilder& image) {
    image.write_docker_archive(archive_);
    return root_of(archive_);
  }
  // Nothing half-made is left, whatever happened.
  void TearDown() override {
    if (const auto names = list_directory(scratch_ / "images")) {
      for (const std::string& name : *names) EXPECT_FALSE(name.starts_with(".draft")) << name;
    }
    EXPECT_EQ(read_file(scratch_ / "outside").value_or(""), "untouched");
  }
  void SetUp() override { ASSERT_TRUE(write_file(scratch_ / "outside", "untouched", 0644)); }

  ScratchDirectory scratch_;
  ImageStore store_{scratch_ / "images"};
  std::string archive_ = scratch_ / "image.tar";
};

TEST_F(ImageStoreTest, Layers_CoverAndHideLowerOnes) {
  ImageBuilder image;
  image.layer()
      .directory("a")
      .file("a/kept", "1")
      .file("a/changed", "1")
      .file("a/hidden", "1")
      .directory("tree")
      .file("tree/x", "1");
  image.layer().file("a/changed", "2").file("a/.wh.hidden", "").file(".wh.tree", "");
  image.layer().file("tree", "now a file");
  const std::string root = unpack(image).value();
  EXPECT_EQ(read_file(root + "/a/kept").value(), "1");
  EXPECT_EQ(read_file(root + "/a/changed").value(), "2");
  EXPECT_FALSE(path_exists(root + "/a/hidden"));
  EXPECT_EQ(read_file(root + "/tree").value(), "now a file");
}

TEST_F(ImageStoreTest, OpaqueDirectory_HidesTheLowerLayersOnly) {
  ImageBuilder image;
  image.layer().file("d/old", "1").file("d/sub/old", "1");
  image.layer().file("d/new", "2").file("d/.wh..wh..opq", "").file("d/newer", "2");
  const std::string root = unpack(image).value();
  EXPECT_EQ(list_directory(root + "/d").value(), (std::vector<std::string>{"new", "newer"}));
}

TEST_F(ImageStoreTest, LinksAndModes_AreKeptWithoutPrivileges) {
  ImageBuilder image;
  image.layer()
      .directory("bin", 0555)
      .file("bin/tool", "x", 06755)
      .link("link", "bin/tool")
      .hard_link("hard", "bin/tool")
      .device("dev/sda");
  const std::string root = unpack(image).value();
  struct stat about;
  ASSERT_EQ(::stat((root + "/bin/tool").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777u, 0755u);
  EXPECT_EQ(about.st_uid, 0u);
  EXPECT_EQ(about.st_nlink, 2u);
  EXPECT_EQ(read_file(root + "/link").value(), "x");
  EXPECT_FALSE(path_exists(root + "/dev/sda"));
}

TEST_F(ImageStoreTest, SameArchive_IsUnpackedOnce) {
  ImageBuilder image;
  image.layer().file("x", "1");
  const std::string root = unpack(image).value();
  ASSERT_TRUE(write_file(root + "/mark", "still here", 0644));
  EXPECT_EQ(root_of(archive_).value(), root);
  EXPECT_TRUE(path_exists(root + "/mark"));
}

TEST_F(ImageStoreTest, ManyAtOnce_UnpackOnce) {
  ImageBuilder image;
  image.layer().file("x", std::string(1 << 20, 'x'));
  image.write_docker_archive(archive_);
  std::vector<std::thread> threads;
  std::vector<std::string> roots(4);
  for (auto& root : roots) {
    threads.emplace_back([&] { root = root_of(archive_).value_or("failed"); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& root : roots) EXPECT_EQ(root, roots[0]);
  EXPECT_NE(roots[0], "failed");
}

TEST_F(ImageStoreTest, CompressedArchive_IsUnpacked) {
  ImageBuilder image;
  image.layer().file("x", "1");
  image.write_docker_archive(archive_);
  const std::string plain = read_file(archive_).value();
  ASSERT_TRUE(write_file(scratch_ / "image.tar.gz", gzip(plain), 0644));
  const auto root = root_of(scratch_ / "image.tar.gz");
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(read_file(*root + "/x").value(), "1");
}

TEST_F(ImageStoreTest, OciLayout_IsUnpackedAndAGoodBlobReplaced_IsRefused) {
  const std::string layout = scratch_ / "layout";
  ImageBuilder image;
  image.layer().file("x", "1");
  image.write_oci_layout(layout);
  const auto root = root_of(layout);
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(read_file(*root + "/x").value(), "1");

  const std::string tampered = scratch_ / "tampered";
  ImageBuilder other;
  other.layer().file("y", "1");
  other.write_oci_layout(tampered);
  const auto blobs = list_directory(tampered + "/blobs/sha256").value();
  for (const std::string& name : blobs) {
    const std::string path = tampered + "/blobs/sha256/" + name;
    const std::string content = read_file(path).value();
    if (!content.starts_with("\x1f\x8b")) continue;
    ASSERT_TRUE(write_file(path, content + "x", 0644));
  }
  const auto refused = root_of(tampered);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("digest"));
}

TEST_F(ImageStoreTest, LayersThatAreNotWhatTheImageSays_AreRefused) {
  ImageBuilder image;
  image.layer().file("x", "1");
  image.lie_about_layers();
  const auto root = unpack(image);
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().code, ErrorCode::invalid_argument);
}

TEST_F(ImageStoreTest, NameThatLeadsOut_IsRefused) {
  for (const char* name : {"../outside", "a/../../outside", "x/.."}) {
    ImageBuilder image;
    image.layer().file(name, "hostile");
    const auto root = unpack(image);
    ASSERT_FALSE(root) << name;
    EXPECT_EQ(root.error().code, ErrorCode::invalid_argument);
  }
}

TEST_F(ImageStoreTest, AbsoluteName_StaysInside) {
  ImageBuilder image;
  image.layer().file(scratch_ / "outside", "hostile");
  const std::string root = unpack(image).value();
  EXPECT_TRUE(path_exists(root + (scratch_ / "outside")));
}

TEST_F(ImageStoreTest, LinkThatLeadsOut_IsNotWrittenThrough) {
  ImageBuilder image;
  image.layer().link("escape", scratch_.path()).file("escape/outside", "hostile");
  // The link is followed inside the root, where its target is not. That the file outside is untouched is seen at the
  // end.
  EXPECT_FALSE(unpack(image));
  ImageBuilder relative;
  relative.layer().link("up", "../../../../../../.." + scratch_.path()).file("up/outside", "hostile");
  (void)unpack(relative);
  ImageBuilder over_layers;
  over_layers.layer().link("dir", "/");
  over_layers.layer().file("dir" + (scratch_ / "outside"), "hostile");
  (void)unpack(over_layers);
}

TEST_F(ImageStoreTest, FileOverALink_ReplacesTheLink) {
  ImageBuilder image;
  image.layer().link("x", scratch_ / "outside");
  image.layer().file("x", "inside");
  const std::string root = unpack(image).value();
  EXPECT_EQ(read_file(root + "/x").value(), "inside");
}

TEST_F(ImageStoreTest, HardLinkThatLeadsOut_IsRefused) {
  for (const std::string& target : {std::string("../../../outside"), scratch_ / "outside"}) {
    ImageBuilder image;
    image.layer().hard_link("x", target);
    EXPECT_FALSE(unpack(image)) << target;
  }
  ImageBuilder through;
  through.layer().link("d", scratch_.path()).hard_link("x", "d/outside");
  EXPECT_FALSE(unpack(through));
}

TEST_F(ImageStoreTest, WhiteoutThatLeadsOut_RemovesNothing) {
  ImageBuilder image;
  image.layer().link("d", scratch_.path());
  image.layer().file("d/.wh.outside", "");
  (void)unpack(image);
  ImageBuilder dots;
  dots.layer().file(".wh...", "");
  EXPECT_FALSE(unpack(dots));
}

TEST_F(ImageStoreTest, NoImageAtAll_SaysSo) {
  ASSERT_TRUE(write_file(archive_, "this is not an archive", 0644));
  EXPECT_EQ(root_of(archive_).error().code, ErrorCode::invalid_argument);
  ASSERT_TRUE(write_file(archive_, "", 0644));
  EXPECT_EQ(root_of(archive_).error().code, ErrorCode::invalid_argument);
  ASSERT_TRUE(write_file(archive_, TarBuilder().file("x", "1").bytes(), 0644));
  EXPECT_THAT(root_of(archive_).error().message, HasSubstr("manifest.json"));
  EXPECT_EQ(root_of(scratch_ / "nothing").error().code, ErrorCode::not_found);
  EXPECT_EQ(root_of("relative/path").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(root_of("/dev/null").error().code, ErrorCode::invalid_argument);
}

TEST_F(ImageStoreTest, CutOffArchive_IsRefused) {
  ImageBuilder image;
  image.layer().file("x", std::string(100'000, 'x'));
  image.write_docker_archive(archive_);
  ASSERT_EQ(::truncate(archive_.c_str(), 50'000), 0);
  EXPECT_FALSE(root_of(archive_));
}

TEST_F(ImageStoreTest, NoTimeLeft_LeavesNothing) {
  ImageBuilder image;
  image.layer().file("x", "1");
  image.write_docker_archive(archive_);
  const auto root = store_.root_of(archive_, CancelToken(Deadline::after(0s)));
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().code, ErrorCode::timeout);
}

TEST_F(ImageStoreTest, MoreThanTheBudget_IsRefused) {
  const std::string root = scratch_ / "root";
  ASSERT_TRUE(make_directory(root, 0755));
  const auto apply = [&](const TarBuilder& tar, LayerBudget budget) {
    EXPECT_TRUE(write_file(archive_, tar.bytes(), 0644));
    auto reader = LayerReader::open(UniqueFd(::open(archive_.c_str(), O_RDONLY | O_CLOEXEC)), "layer", mib(64),
                                    CancelToken(Deadline::after(60s)));
    auto writer = LayerWriter::open(root, budget);
    return writer->apply(**reader);
  };
  EXPECT_EQ(apply(TarBuilder().file("a", "1").file("b", "2"), {.entries = 1}).error().code, ErrorCode::limit_reached);
  EXPECT_EQ(apply(TarBuilder().file("a", std::string(5000, 'x')), {.bytes = kib(4)}).error().code,
            ErrorCode::limit_reached);
  EXPECT_TRUE(apply(TarBuilder().file("a", "1").file("b", "2"), {}));
}

TEST_F(ImageStoreTest, SeveralImagesInOne_AreRefused) {
  ASSERT_TRUE(write_file(
      archive_,
      TarBuilder().file("manifest.json", R"([{"Config":"a","Layers":[]},{"Config":"b","Layers":[]}])").bytes(), 0644));
  EXPECT_THAT(root_of(archive_).error().message, HasSubstr("several"));
  for (const char* manifest : {"{}", "[]", "[1]", "nonsense", R"([{"Config":"../../../../etc/passwd","Layers":[]}])",
                               R"([{"Config":"/etc/passwd","Layers":["/etc/shadow"]}])"}) {
    ASSERT_TRUE(write_file(archive_, TarBuilder().file("manifest.json", manifest).bytes(), 0644));
    EXPECT_FALSE(root_of(archive_)) << manifest;
  }
}

}  // namespace
}  // namespace cloche::oci
