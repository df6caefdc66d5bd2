#include "backend/docker/engine/line_splitter.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cloche::docker {
namespace {

TEST(LineSplitter, EverySplit_YieldsSameLines) {
  const std::string_view all = "one\r\n\ntwo\nrest";
  for (std::size_t at = 0; at <= all.size(); ++at) {
    LineSplitter splitter(kib(1));
    std::vector<std::string> lines;
    for (std::string_view part : {all.substr(0, at), all.substr(at)}) {
      for (;;) {
        const auto line = splitter.next(part);
        ASSERT_TRUE(line);
        if (!*line) break;
        lines.push_back(**line);
      }
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two"})) << at;
    EXPECT_EQ(splitter.take_rest(), "rest");
  }
}

TEST(LineSplitter, LineTooLong_IsRefusedWhereverItIsSplit) {
  LineSplitter splitter({4});
  std::string_view four = "abcd", one = "e", end = "\n";
  ASSERT_TRUE(splitter.next(four));
  EXPECT_FALSE(splitter.next(one));
  LineSplitter exact({4});
  four = "abcd";
  ASSERT_TRUE(exact.next(four));
  EXPECT_EQ(exact.next(end).value(), "abcd");
}

}  // namespace
}  // namespace cloche::docker
