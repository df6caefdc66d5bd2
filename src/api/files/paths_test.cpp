// Paths as callers write them.
#include "api/files/paths.hpp"

#include <gtest/gtest.h>

#include "api/files/place.hpp"

namespace cloche::api {

TEST(WorkspacePath, RelativePath_IsCleaned) {
  EXPECT_EQ(workspace_path("a/b.txt", "/workspace"), "a/b.txt");
  EXPECT_EQ(workspace_path("./a//./b", "/workspace"), "a/b");
  EXPECT_EQ(workspace_path(".", "/workspace"), ".");
  EXPECT_EQ(workspace_path("./", "/workspace"), ".");
  EXPECT_EQ(workspace_path("a/", "/workspace"), "a/");
  EXPECT_EQ(workspace_path("a/.", "/workspace"), "a/");
  EXPECT_EQ(workspace_path("...", "/workspace"), "...");
}

TEST(WorkspacePath, AbsolutePathInTheWorkspace_IsRelativeToIt) {
  EXPECT_EQ(workspace_path("/workspace/a", "/workspace"), "a");
  EXPECT_EQ(workspace_path("//workspace/./a", "/workspace"), "a");
  EXPECT_EQ(workspace_path("/workspace", "/workspace"), ".");
  EXPECT_EQ(workspace_path("/workspace/", "/workspace"), ".");
  EXPECT_EQ(workspace_path("/deep/work/a", "/deep/work"), "a");
}

TEST(WorkspacePath, AnyOtherAbsolutePath_IsRefused) {
  for (const char* path : {"/", "/etc/passwd", "/workspac", "/workspaces/a", "/workspace-2", "//etc/passwd", "/.",
                           "/a/workspace/b", "/workspace/../etc"}) {
    const auto clean = workspace_path(path, "/workspace");
    ASSERT_FALSE(clean) << path << ": " << *clean;
    EXPECT_EQ(clean.error().code, ErrorCode::invalid_argument);
  }
}

TEST(SessionPath, InTheWorkspace_IsRelativeToIt) {
  EXPECT_EQ(session_path("./a//b", "/workspace"), "a/b");
  EXPECT_EQ(session_path("/workspace/a/", "/workspace"), "a/");
  EXPECT_EQ(session_path("/workspace", "/workspace"), ".");
  const FilePath place = place_of("a/b", "/workspace");
  EXPECT_EQ(place.root, "/workspace");
  EXPECT_FALSE(place.refuses_kernel_files);
}

TEST(SessionPath, Elsewhere_IsAbsolute) {
  EXPECT_EQ(session_path("/tmp/x", "/workspace"), "/tmp/x");
  EXPECT_EQ(session_path("//tmp/./x/", "/workspace"), "/tmp/x/");
  EXPECT_EQ(session_path("/", "/workspace"), "/");
  EXPECT_EQ(session_path("/workspaces/a", "/workspace"), "/workspaces/a");
  const FilePath place = place_of("/tmp/x", "/workspace");
  EXPECT_EQ(place.root, "");
  EXPECT_TRUE(place.refuses_kernel_files);
}

TEST(SessionPath, OfTheKernel_IsRefused) {
  for (const char* path : {"/proc", "/proc/self/mem", "//proc/./1", "/sys/", "/sys/kernel"}) {
    const auto clean = session_path(path, "/workspace");
    ASSERT_FALSE(clean) << path;
    EXPECT_EQ(clean.error().code, ErrorCode::permission_denied) << path;
  }
  EXPECT_TRUE(session_path("/process", "/workspace"));
}

TEST(SessionPath, NulDotsOrNothing_IsRefused) {
  for (const std::string& path :
       {std::string(), std::string("/tmp/../etc"), std::string("/tmp/a\0", 7), std::string("..")}) {
    const auto clean = session_path(path, "/workspace");
    ASSERT_FALSE(clean) << path;
    EXPECT_EQ(clean.error().code, ErrorCode::invalid_argument) << path;
  }
}

TEST(WorkspacePath, NulDotsOrNothing_IsRefused) {
  EXPECT_FALSE(workspace_path("", "/workspace"));
  EXPECT_FALSE(workspace_path(std::string_view("a\0", 2), "/workspace"));
  EXPECT_FALSE(workspace_path("..", "/workspace"));
  EXPECT_FALSE(workspace_path("a/..", "/workspace"));
  EXPECT_FALSE(workspace_path("a/../..", "/workspace"));
}

TEST(WorkspaceFile, PathOfADirectory_IsRefused) {
  EXPECT_EQ(workspace_file("a", "/workspace"), "a");
  EXPECT_FALSE(workspace_file("a/", "/workspace"));
  EXPECT_FALSE(workspace_file("a/.", "/workspace"));
  EXPECT_FALSE(workspace_file("/workspace", "/workspace"));
}

TEST(PathOfSegments, LastSegments_AreJoined) {
  EXPECT_EQ(path_of_segments({"sessions", "t", "s", "files", "a", "b c"}, 2), "a/b c");
  EXPECT_EQ(path_of_segments({"files", "", "a"}, 2), "a") << "an absolute path would not be meant";
  EXPECT_EQ(path_of_segments({"files", ""}, 1), "");
  EXPECT_FALSE(path_of_segments({"files", "a/b"}, 1));
}

TEST(JoinedPath, Directory_StandsBefore) {
  EXPECT_EQ(joined_path(".", "a/b"), "a/b");
  EXPECT_EQ(joined_path("d", "a"), "d/a");
  EXPECT_EQ(joined_path("d/", "a"), "d/a");
}

}  // namespace cloche::api
