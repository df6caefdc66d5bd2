#include "runner/autograder/path_below.hpp"

#include <gtest/gtest.h>

namespace cloche::runner {
namespace {

TEST(PathBelow, PathsThatStay_AreMadePlain) {
  EXPECT_EQ(path_below("/app", "a/b.py"), "a/b.py");
  EXPECT_EQ(path_below("/app", "/app/a//./b.py"), "a/b.py");
  EXPECT_EQ(path_below("/app", "a/../b"), "b");
  EXPECT_EQ(path_below("/app", "a/"), "a");
  EXPECT_EQ(path_below("/app", "..a"), "..a");
}

TEST(PathBelow, PathsThatLeave_AreNone) {
  for (const char* path :
       {"..", "../x", "a/../../x", "/etc/passwd", "/app/../x", "/application", "/", "", ".", "/app", "a/.."}) {
    EXPECT_FALSE(path_below("/app", path)) << path;
  }
  EXPECT_FALSE(path_below("/app", std::string("a\0b", 3)));
}

}  // namespace
}  // namespace cloche::runner
