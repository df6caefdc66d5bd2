#include "backend/oci/root/volume_points.hpp"

#include <gmock/gmock.h>

namespace cloche::oci {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<MountedVolume> volumes_at(const std::vector<std::string>& targets) {
  std::vector<MountedVolume> volumes;
  for (const std::string& target : targets) {
    volumes.push_back({{.tenant = "t", .name = "v" + std::to_string(volumes.size()), .target = target}, {}});
  }
  return volumes;
}

SourcedMount mount_at(const std::string& target, PathKind kind) {
  return {{.source = "/srv", .target = target, .access = Access::read_only}, kind};
}

std::vector<std::string> paths_of(const std::vector<VolumePoints::Point>& points) {
  std::vector<std::string> paths;
  for (const auto& point : points) paths.push_back(point.path + (point.kind == PathKind::file ? " (file)" : ""));
  return paths;
}

TEST(VolumePoints, BelowVolumes_NeedNothingElse) {
  const auto points = points_for({}, volumes_at({"/volumes/a", "/volumes/b"}), {});
  EXPECT_THAT(points.named, ElementsAre("a", "b"));
  EXPECT_EQ(points.cover, "");
  EXPECT_THAT(points.in_cover, IsEmpty());
  EXPECT_THAT(points.on_disk, IsEmpty());
}

TEST(VolumePoints, InMemory_AreMadeInACoverOfTheWorkDirectory) {
  const auto points = points_for({}, volumes_at({"/workspace/a/b", "/workspace/a/c/d", "/workspace/e"}), {});
  EXPECT_EQ(points.cover, "/workspace");
  EXPECT_THAT(paths_of(points.in_cover),
              ElementsAre("/workspace/a", "/workspace/a/b", "/workspace/a/c", "/workspace/a/c/d", "/workspace/e"));
  EXPECT_THAT(points.opened, ElementsAre("/workspace/a", "/workspace/a/c"));
}

TEST(VolumePoints, InACover_PlacesOfMountsAreMadeAgain) {
  const std::vector<SourcedMount> mounts = {
      mount_at("/srv/x", PathKind::directory), mount_at("/workspace/m/file", PathKind::file),
      mount_at("/workspace/n", PathKind::directory), mount_at("/workspace/n/inner", PathKind::directory)};
  const auto points = points_for({}, volumes_at({"/workspace/a"}), mounts);
  EXPECT_THAT(paths_of(points.in_cover),
              ElementsAre("/workspace/a", "/workspace/m", "/workspace/m/file (file)", "/workspace/n"));
  EXPECT_THAT(points.opened, IsEmpty());
}

TEST(VolumePoints, InAWorkDirectoryBelowTmp_AreMadeFromThere) {
  SandboxSpec spec;
  spec.work_dir = "/tmp/work";
  const auto points = points_for(spec, volumes_at({"/tmp/work/a/b"}), {});
  EXPECT_EQ(points.cover, "/tmp");
  EXPECT_THAT(paths_of(points.in_cover), ElementsAre("/tmp/work", "/tmp/work/a", "/tmp/work/a/b"));
  EXPECT_THAT(points.opened, ElementsAre("/tmp/work/a"));
}

TEST(VolumePoints, OnADisk_AreMadeThere) {
  SandboxSpec spec;
  spec.workspace = WorkspaceKind::disk;
  const auto points = points_for(spec, volumes_at({"/workspace/a/b", "/home/sandbox/.cache", "/volumes/x"}), {});
  EXPECT_THAT(points.named, ElementsAre("x"));
  EXPECT_EQ(points.cover, "");
  EXPECT_THAT(points.on_disk, ElementsAre("work/a", "work/a/b", "home/.cache"));
}

}  // namespace
}  // namespace cloche::oci
