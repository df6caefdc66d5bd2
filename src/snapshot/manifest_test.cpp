// The form of manifests.
#include "snapshot/manifest.hpp"

#include <gtest/gtest.h>

#include "snapshot/snapshot_id.hpp"
#include "support/result_matchers.hpp"

namespace cloche::snapshot {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;

Manifest sample() {
  Manifest manifest;
  manifest.info.id = random_id(id_letter);
  manifest.info.tenant = "acme";
  manifest.info.name = "before";
  manifest.info.session = "s1";
  manifest.info.profile = "session";
  manifest.info.created = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000));
  manifest.info.files = 3;
  manifest.info.size = Bytes{12};
  manifest.work = {{sha256("a"), 1}, {sha256("b"), most_of_piece}};
  manifest.home = Tree{{sha256("c"), 7}};
  return manifest;
}

// With a checksum that is right.
std::string summed(std::string bytes) {
  const Digest sum = sha256(bytes);
  return bytes.append(reinterpret_cast<const char*>(sum.data()), sum.size());
}

TEST(Manifest, Written_IsReadAgain) {
  Manifest manifest = sample();
  EXPECT_EQ(read_manifest(write_manifest(manifest)).value(), manifest);
  manifest.home.reset();
  manifest.info.name.clear();
  manifest.work.clear();
  manifest.lifetime = Manifest::Lifetime::temporary;
  EXPECT_EQ(read_manifest(write_manifest(manifest)).value(), manifest);
}

TEST(Manifest, EveryChangedByte_IsNoticed) {
  const std::string good = write_manifest(sample());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_THAT(read_manifest(bad), FailsWith(ErrorCode::protocol)) << i;
    EXPECT_THAT(read_manifest(good.substr(0, i)), FailsWith(ErrorCode::protocol)) << i;
  }
  EXPECT_THAT(read_manifest(good + "x"), FailsWith(ErrorCode::protocol));
}

TEST(Manifest, WrongContentWithARightChecksum_IsRefused) {
  const std::string good = write_manifest(sample());
  const std::string content = good.substr(0, good.size() - 32);
  ASSERT_EQ(summed(content), good);
  EXPECT_FALSE(read_manifest(summed(content + "x")));
  EXPECT_FALSE(read_manifest(summed(content.substr(0, content.size() - 1))));
  EXPECT_FALSE(read_manifest(summed("")));
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string bytes = content;
    bytes.replace(bytes.find(from), from.size(), to);
    return read_manifest(summed(bytes));
  };
  EXPECT_FALSE(changed("\"acme\"", "\"../x\""));
  EXPECT_FALSE(changed("\"tenant\"", "\"nobody\""));  // lint-words: allow
  EXPECT_FALSE(changed("\"files\":3", "\"files\":-"));
  EXPECT_FALSE(changed("\"name\":", "\"home\":"));
}

TEST(Manifest, PiecesWithoutSizeOrTooLarge_AreRefused) {
  Manifest manifest = sample();
  manifest.work[0].size = 0;
  EXPECT_FALSE(read_manifest(write_manifest(manifest)));
  manifest.work[0].size = most_of_piece + 1;
  EXPECT_FALSE(read_manifest(write_manifest(manifest)));
}

TEST(SnapshotId, RandomIds_AreIds_AndNamesAreNot) {
  const std::string id = random_id(id_letter);
  EXPECT_EQ(id.size(), 20U);
  EXPECT_TRUE(is_id(id));
  EXPECT_NE(id, random_id(id_letter));
  EXPECT_FALSE(is_id(random_id('f')));
  EXPECT_FALSE(is_id(id + "a"));
  EXPECT_THAT(check_name(id), FailsWith(ErrorCode::invalid_argument));
  EXPECT_THAT(check_name("before-1.0"), Succeeds());
  for (const char* name : {"", ".", "..", "a/b", "a b", "\n"}) EXPECT_FALSE(check_name(name)) << name;
}

}  // namespace
}  // namespace cloche::snapshot
