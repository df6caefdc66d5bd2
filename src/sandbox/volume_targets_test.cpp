#include "sandbox/volume_targets.hpp"

#include <gtest/gtest.h>

namespace cloche {
namespace {

VolumeMount at(std::string target, std::string name = "data") {
  return {.tenant = "acme", .name = std::move(name), .target = std::move(target)};
}

Status settle(std::vector<VolumeMount> volumes, const SandboxSpec& spec = {}) {
  return settle_volume_targets(volumes, spec);
}

TEST(VolumeTarget, IsNamedByTheVolumeUnlessItIsSet) {
  std::vector<VolumeMount> volumes = {at(""), at("/workspace/sets", "sets")};
  ASSERT_TRUE(settle_volume_targets(volumes, {}));
  EXPECT_EQ(volumes[0].target, "/volumes/data");
  EXPECT_EQ(volumes[1].target, "/workspace/sets");
}

TEST(VolumeTarget, MayBeBelowTheWorkAndHomeDirectory) {
  SandboxSpec spec;
  spec.workspace = WorkspaceKind::disk;
  EXPECT_TRUE(settle({at("/workspace/a/b"), at("/home/sandbox/.cache", "cache")}, spec));
  EXPECT_TRUE(settle({at("/volumes/other")}, spec));
}

TEST(VolumeTarget, ElsewhereIsRejected) {
  for (const char* target :
       {"/", "/etc", "/proc/1", "/workspace", "/volumes", "/volumes/a/b", "/workspace/../etc", "workspace/a",
        "/workspacex/a", "/workspace//a", "/tmp/a", "/.cloche/agent", "/workspace/"}) {
    const Status settled = settle({at(target)});
    ASSERT_FALSE(settled) << target;
    EXPECT_EQ(settled.error().code, ErrorCode::invalid_argument);
  }
}

TEST(VolumeTarget, TooLongIsRejected) {
  const std::string name(255, 'a');
  EXPECT_TRUE(settle({at("/workspace/" + name)}));
  EXPECT_FALSE(settle({at("/workspace/" + name + "a")}));
  EXPECT_FALSE(settle({at("/workspace/" + name + "/" + name + "/" + name + "/" + name + "/" + name)}));
  std::string deep = "/workspace";
  for (int i = 0; i < 63; ++i) deep += "/a";
  EXPECT_TRUE(settle({at(deep)}));
  EXPECT_FALSE(settle({at(deep + "/a")}));
}

TEST(VolumeTarget, AndAMount_AreNotInsideEachOther) {
  SandboxSpec spec;
  spec.mounts.push_back({.source = "/srv/data", .target = "/workspace/a/b"});
  for (const char* target : {"/workspace/a", "/workspace/a/b", "/workspace/a/b/c"}) {
    const Status apart = check_apart_from_mounts({at(target)}, spec);
    ASSERT_FALSE(apart) << target;
    EXPECT_EQ(apart.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(check_apart_from_mounts({at("/workspace/a/c"), at("/volumes/x", "x"), at("/workspace/a/bc", "y")}, spec));
}

TEST(VolumeTarget, NoneIsInAnother) {
  EXPECT_FALSE(settle({at("/workspace/a"), at("/workspace/a", "b")}));
  EXPECT_FALSE(settle({at("/workspace/a"), at("/workspace/a/b", "b")}));
  EXPECT_TRUE(settle({at("/workspace/a"), at("/workspace/ab", "b")}));
}

TEST(VolumeTarget, NoVolumeIsThereTwice) {
  EXPECT_FALSE(settle({at("/workspace/a"), at("/workspace/b")}));
  std::vector<VolumeMount> of_two = {at("/workspace/a"), at("/workspace/b")};
  of_two[1].tenant = "other";
  EXPECT_TRUE(settle(of_two));
}

TEST(VolumeTarget, ThereAreNotTooMany) {
  std::vector<VolumeMount> volumes;
  for (std::size_t i = 0; i <= most_volumes_in_sandbox; ++i) volumes.push_back(at("", "v" + std::to_string(i)));
  EXPECT_FALSE(settle(volumes));
  volumes.pop_back();
  EXPECT_TRUE(settle(volumes));
}

}  // namespace
}  // namespace cloche
