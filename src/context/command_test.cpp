#include "context/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CommandLine, OddBytes_AreEscapedAndStayOneLine) {
  EXPECT_EQ(to_driver_line("0a", "", "echo \"a b\""), "run 0a - echo \"a b\"\n");
  EXPECT_EQ(to_driver_line("0a", "/tmp/in", "cat"), "run 0a /tmp/in cat\n");
  EXPECT_EQ(to_driver_line("0a", "", "a\nb\\n\t\x7f\x01"), "run 0a - a\\0012b\\0134n\\0011\\0177\\0001\n");
  EXPECT_EQ(to_driver_line("0a", "", "ü"), "run 0a - ü\n");
  EXPECT_EQ(to_driver_line("0a", "", ""), "run 0a - \n");
}

TEST(CommandRequest, ThatMakesNoSense_IsRefused) {
  CommandRequest request;
  EXPECT_TRUE(validate(request));
  request.command = std::string("a\0b", 3);
  EXPECT_FALSE(validate(request));
  request.command = std::string(mib(1).count + 1, 'x');
  EXPECT_FALSE(validate(request));
  request.command = "x";
  request.input = std::string(mib(16).count + 1, 'x');
  EXPECT_FALSE(validate(request));
  request.input.clear();
  request.wall_limit = std::chrono::hours(25);
  EXPECT_FALSE(validate(request));
}

TEST(CommandBegin, OddText_MeansThatNothingWasThereBefore) {
  const auto begin = parse_begin("16493.38 [1]-  12 Running   sleep 3\n      34     | cat &\n[2] + 56 Done\n");
  EXPECT_EQ(begin.mark, "1649338");
  EXPECT_THAT(begin.jobs, ElementsAre(12, 34, 56));
  for (const char* text :
       {"", "-", "- ", "1", "1.5", "1.x5 ", "-1.55", "1.55; rm", "99999999999999999999.99", "1.234"}) {
    EXPECT_EQ(parse_begin(text).mark, "0") << text;
  }
  EXPECT_THAT(parse_begin("1.00 x 8\n-5\n7\n[1]\n + \n99999999999").jobs, ElementsAre(7));
  EXPECT_THAT(parse_begin("1.00 ").jobs, IsEmpty());
}

TEST(CommandEnd, StatusAndDirectory_AreTakenApart) {
  const auto end = parse_end("3 /a b\nc");
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(end->directory, "/a b\nc");
  EXPECT_EQ(parse_end("0")->directory, "");
  EXPECT_FALSE(parse_end(""));
  EXPECT_FALSE(parse_end("256 /"));
  EXPECT_FALSE(parse_end("-1 /"));
  EXPECT_FALSE(parse_end("x /"));
}

}  // namespace
}  // namespace cloche
