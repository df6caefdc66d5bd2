#include "backend/docker/host_path_map.hpp"

#include <gtest/gtest.h>

namespace cloche::docker {
namespace {

const HostPathMap map = {{"/data", "/srv/data"}, {"/data/db", "/mnt/ssd/db"}, {"/work/", "/home/me/work/"}};

TEST(ToHostPath, LongestEntry_Wins) {
  EXPECT_EQ(to_host_path(map, "/data/db/x"), "/mnt/ssd/db/x");
  EXPECT_EQ(to_host_path(map, "/data/db"), "/mnt/ssd/db");
  EXPECT_EQ(to_host_path(map, "/data/other"), "/srv/data/other");
  EXPECT_EQ(to_host_path(map, "/data"), "/srv/data");
}

TEST(ToHostPath, HalfAComponent_DoesNotCount) {
  EXPECT_EQ(to_host_path(map, "/database/x"), "/database/x");
  EXPECT_EQ(to_host_path(map, "/data/dbx"), "/srv/data/dbx");
}

TEST(ToHostPath, SlashAtTheEndOfAnEntry_DoesNotMatter) {
  EXPECT_EQ(to_host_path(map, "/work/a"), "/home/me/work/a");
  EXPECT_EQ(to_host_path(map, "/work"), "/home/me/work");
}

TEST(ToHostPath, RootAsEntry_TakesWhatNoOtherTakes) {
  const HostPathMap with_root = {{"/", "/host"}, {"/data", "/d"}};
  EXPECT_EQ(to_host_path(with_root, "/etc/x"), "/host/etc/x");
  EXPECT_EQ(to_host_path(with_root, "/"), "/host");
  EXPECT_EQ(to_host_path(with_root, "/data/x"), "/d/x");
  EXPECT_EQ(to_host_path({{"/mnt", "/"}}, "/mnt"), "/");
  EXPECT_EQ(to_host_path({{"/mnt", "/"}}, "/mnt/x"), "/x");
}

TEST(ToHostPath, NoEntry_LeavesThePath) { EXPECT_EQ(to_host_path({}, "/a/b"), "/a/b"); }

}  // namespace
}  // namespace cloche::docker
