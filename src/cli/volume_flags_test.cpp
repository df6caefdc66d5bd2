#include "cli/volume_flags.hpp"

#include <boost/json/serialize.hpp>

#include "support/result_matchers.hpp"

namespace cloche::cli {
namespace {

std::string read(const std::string& text) {
  auto volume = parse_volume(text);
  return volume ? boost::json::serialize(*volume) : volume.error().message;
}

TEST(VolumeFlags, NamePathAndAccess_AreRead) {
  EXPECT_EQ(read("data"), R"({"access":"read_write","name":"data","target":"/volumes/data"})");
  EXPECT_EQ(read("data:ro"), R"({"access":"read_only","name":"data","target":"/volumes/data"})");
  EXPECT_EQ(read("data:/workspace/d"), R"({"access":"read_write","name":"data","target":"/workspace/d"})");
  EXPECT_EQ(read("data:/workspace/d:rw"), R"({"access":"read_write","name":"data","target":"/workspace/d"})");
  EXPECT_EQ(read("data:/workspace/d:ro"), R"({"access":"read_only","name":"data","target":"/workspace/d"})");
  // The service says whether a path with a colon is one.
  EXPECT_EQ(read("data:/a:b:ro"), R"({"access":"read_only","name":"data","target":"/a:b"})");
}

TEST(VolumeFlags, OtherTexts_AreRefused) {
  for (const std::string text : {"", ":", ":ro", ":/a", "data:", "data:a", "data:rox", "data::ro", "data:\xff"}) {
    EXPECT_THAT(read(text), testing::HasSubstr("invalid volume '")) << text;
  }
}

}  // namespace
}  // namespace cloche::cli
