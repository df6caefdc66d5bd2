// Windows of lines, however the stream is cut into pieces.
#include "api/files/lines.hpp"

#include <gtest/gtest.h>

#include "api/files/text.hpp"

namespace cloche::api {

namespace {

constexpr LineCaps small{.content = Bytes{20}, .line = Bytes{8}, .counted = Bytes{40}, .scanned = Bytes{60}};

LineWindow window_of(std::string_view text, std::uint64_t first, std::uint64_t count, std::size_t piece = 1,
                     LineCaps caps = {}) {
  LineWindow window(first, count, caps);
  while (!text.empty() && !window.has_enough()) {
    window.take(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
  }
  if (text.empty()) window.end();
  return window;
}

}  // namespace

TEST(LineWindow, AnyPieces_YieldTheSameLines) {
  const std::string text = "one\ntwo\n\nfour\nfive";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const auto window = window_of(text, 1, 3, piece);
    EXPECT_EQ(window.content(), "two\n\nfour\n") << piece;
    EXPECT_EQ(window.kept_lines(), 3u);
    EXPECT_EQ(window.total_lines(), 5u);
    EXPECT_TRUE(window.total_is_exact());
    EXPECT_TRUE(window.more_follows());
  }
}

TEST(LineWindow, LastLineWithoutFeed_IsALine) {
  const auto window = window_of("a\nb", 0, 10);
  EXPECT_EQ(window.content(), "a\nb");
  EXPECT_EQ(window.kept_lines(), 2u);
  EXPECT_EQ(window.total_lines(), 2u);
  EXPECT_FALSE(window.more_follows());
}

TEST(LineWindow, EmptyStreamOrWindowBehindTheEnd_HasNothing) {
  const auto empty = window_of("", 0, 10);
  EXPECT_EQ(empty.content(), "");
  EXPECT_EQ(empty.total_lines(), 0u);
  EXPECT_FALSE(empty.more_follows());
  const auto behind = window_of("a\nb\n", 9, 10);
  EXPECT_EQ(behind.content(), "");
  EXPECT_EQ(behind.total_lines(), 2u);
  EXPECT_TRUE(behind.reached());
  EXPECT_FALSE(behind.more_follows());
}

TEST(LineWindow, LongLine_IsCutAndCounted) {
  const auto window = window_of("0123456789abc\nnext\n", 0, 10, 3, small);
  EXPECT_EQ(window.content(), "01234567\nnext\n");
  EXPECT_EQ(window.cut_lines(), 1u);
  EXPECT_FALSE(window.more_follows());
}

TEST(LineWindow, CutWithinACharacter_LeavesItOut) {
  const auto window = window_of("1234567\xc3\xa9xyz", 0, 10, 64, small);
  EXPECT_EQ(window.content(), "1234567");
  EXPECT_EQ(window.cut_lines(), 1u);
}

TEST(LineWindow, MoreThanFits_EndsBeforeTheLineThatDoesNot) {
  const auto window = window_of("1234567\n1234567\n1234567\n1234567\n", 0, 10, 5, small);
  EXPECT_EQ(window.content(), "1234567\n1234567\n");
  EXPECT_EQ(window.kept_lines(), 2u);
  EXPECT_EQ(window.total_lines(), 4u);
  EXPECT_TRUE(window.more_follows());
}

TEST(LineWindow, NothingButFeeds_StaysWithinTheCap) {
  const auto window = window_of(std::string(39, '\n'), 0, 100, 64, small);
  EXPECT_LE(window.content().size(), 20u);
  EXPECT_EQ(window.kept_lines(), window.content().size());
  EXPECT_EQ(window.total_lines(), 39u);
}

TEST(LineWindow, LongStream_IsCountedToTheCapOnly) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "x\n";
  const auto window = window_of(text, 0, 2, 10, small);
  EXPECT_EQ(window.content(), "x\nx\n");
  EXPECT_EQ(window.scanned(), 40u);
  EXPECT_EQ(window.total_lines(), 20u);
  EXPECT_FALSE(window.total_is_exact());
  EXPECT_TRUE(window.more_follows());
}

TEST(LineWindow, WindowTooFarIn_IsNotReached) {
  const auto window = window_of(std::string(200, 'x'), 1, 2, 10, small);
  EXPECT_EQ(window.scanned(), 60u);
  EXPECT_FALSE(window.reached());
}

TEST(ToText, Encodings_DoAsTheySay) {
  const std::string bytes = "caf\xe9";
  EXPECT_EQ(to_text(bytes, TextEncoding::utf_8), std::nullopt);
  EXPECT_EQ(to_text(bytes, TextEncoding::latin_1), "caf\xc3\xa9");
  EXPECT_EQ(to_text(bytes, TextEncoding::replace), "caf\xef\xbf\xbd");
  EXPECT_EQ(to_text("caf\xc3\xa9", TextEncoding::utf_8), "caf\xc3\xa9");
}

}  // namespace cloche::api
