#include "agent/files/operations/line_splitter.hpp"

#include "agent/files/file_tester.hpp"

namespace cloche::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> lines_of(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> lines;
  LineSplitter splitter([&](const Line& line) {
    lines.emplace_back(line.text);
    EXPECT_EQ(line.number, lines.size());
    return true;
  });
  while (!bytes.empty()) {
    splitter.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  splitter.finish();
  return lines;
}

TEST(LineSplitter, AnySplitOfBytes_GivesTheSameLines) {
  for (std::size_t piece = 1; piece < 12; ++piece) {
    EXPECT_THAT(lines_of("one\n\nthree\nfour", piece), ElementsAre("one", "", "three", "four")) << piece;
    EXPECT_THAT(lines_of("one\n", piece), ElementsAre("one"));
    EXPECT_THAT(lines_of("", piece), IsEmpty());
    EXPECT_THAT(lines_of("\n\n", piece), ElementsAre("", ""));
  }
}

TEST(LineSplitter, LongLine_IsCutAndTheNextOneIsWhole) {
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{1 << 20}}) {
    bool cut = false;
    std::vector<std::size_t> sizes;
    LineSplitter splitter([&](const Line& line) {
      cut = cut || line.cut;
      sizes.push_back(line.text.size());
      return true;
    });
    const std::string text = std::string(200'000, 'x') + "\nnext\n";
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(std::min(piece, rest.size())))
      splitter.feed(rest.substr(0, piece));
    splitter.finish();
    EXPECT_TRUE(cut);
    EXPECT_THAT(sizes, ElementsAre(LineSplitter::longest_line, 4U));
  }
}

TEST(LineSplitter, NoMoreWanted_HandsOutNoMore) {
  int count = 0;
  LineSplitter splitter([&](const Line&) { return ++count < 2; });
  EXPECT_FALSE(splitter.feed("a\nb\nc\nd"));
  EXPECT_FALSE(splitter.finish());
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace cloche::agent::testing
