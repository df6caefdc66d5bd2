#include "core/line_splitter.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace cloche {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Found {
  std::vector<std::string> lines;
  std::vector<bool> cut;
};

Found split(std::string_view bytes, std::size_t piece, std::size_t longest = 1000) {
  Found found;
  LineSplitter splitter(longest);
  const auto take = [&](const Line& line) {
    found.lines.emplace_back(line.text);
    found.cut.push_back(line.cut);
    EXPECT_EQ(line.number, found.lines.size());
  };
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    std::string_view rest = bytes.substr(0, piece);
    while (const auto line = splitter.next(rest)) take(*line);
    EXPECT_TRUE(rest.empty());
  }
  if (const auto last = splitter.finish()) take(*last);
  EXPECT_FALSE(splitter.finish());
  return found;
}

TEST(LineSplitter, EverySplitOfBytes_GivesTheSameLines) {
  for (std::size_t piece = 1; piece < 16; ++piece) {
    EXPECT_THAT(split("one\n\nthree\nfour", piece).lines, ElementsAre("one", "", "three", "four")) << piece;
    EXPECT_THAT(split("one\r\n", piece).lines, ElementsAre("one\r"));
    EXPECT_THAT(split("", piece).lines, IsEmpty());
    EXPECT_THAT(split("\n\n", piece).lines, ElementsAre("", ""));
  }
}

TEST(LineSplitter, LongLine_IsCutAndTheNextOneIsWhole) {
  for (std::size_t piece = 1; piece < 16; ++piece) {
    const Found found = split("12345\n1234\nabcdefgh", piece, 4);
    EXPECT_THAT(found.lines, ElementsAre("1234", "1234", "abcd")) << piece;
    EXPECT_THAT(found.cut, ElementsAre(true, false, true)) << piece;
  }
}

TEST(LineSplitter, LineWithoutEnd_IsKnownToBeTooLong) {
  LineSplitter splitter(4);
  std::string_view bytes = "1234";
  EXPECT_FALSE(splitter.next(bytes));
  EXPECT_FALSE(splitter.is_cutting());
  bytes = "5";
  EXPECT_FALSE(splitter.next(bytes));
  EXPECT_TRUE(splitter.is_cutting());
  bytes = "\n";
  EXPECT_TRUE(splitter.next(bytes)->cut);
  EXPECT_FALSE(splitter.is_cutting());
}

}  // namespace
}  // namespace cloche
