#include "images/package_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::images {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PackageList, NamesPathsAndComments_AreToldApart) {
  const auto list = parse_package_list("# a comment\n\n g++  # the compiler\r\n-/usr/share/doc/*\nlibc6-dev");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_THAT(list->packages, ElementsAre("g++", "libc6-dev"));
  EXPECT_THAT(list->dropped, ElementsAre("/usr/share/doc/*"));
}

TEST(PackageList, Empty_HasNothing) {
  const auto list = parse_package_list("");
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->packages.empty());
  EXPECT_TRUE(list->dropped.empty());
}

class BadLine : public testing::TestWithParam<const char*> {};

TEST_P(BadLine, IsRefusedWithItsNumber) {
  const auto list = parse_package_list(std::string("bash\n") + GetParam() + "\n");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(list.error().message, HasSubstr("line 2"));
}

INSTANTIATE_TEST_SUITE_P(PackageList, BadLine,
                         testing::Values("Bash", "two names", "a,b", "x=1.0", "?essential", "--option",
                                         "-relative/path", "-/", "-/usr", "-/*", "-/usr/", "-/usr/../etc/x", "-/usr//x",
                                         "-/usr/./x", "-/usr/[a]x", "-/usr/a b"));

}  // namespace
}  // namespace cloche::images
