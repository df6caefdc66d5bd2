#include "script/log_lines.hpp"

#include <gtest/gtest.h>

#include "core/utf8.hpp"

namespace cloche {
namespace {

std::vector<std::string> messages(const std::vector<LogEvent>& events) {
  std::vector<std::string> texts;
  for (const auto& event : events) texts.push_back(event.message);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(LogLines, LinesInPieces_AreOneEventEach) {
  LogLines lines(LogEvent::Source::err);
  EXPECT_EQ(messages(lines.feed("one\ntw")), Texts{"one"});
  const auto events = lines.feed("o\r\n\nthree");
  EXPECT_EQ(messages(events), (Texts{"two", ""}));
  EXPECT_EQ(events[0].source, LogEvent::Source::err);
  EXPECT_EQ(events[0].level, LogEvent::Level::warning);
  EXPECT_EQ(messages(lines.finish()), Texts{"three"});
  EXPECT_TRUE(lines.finish().empty());
}

TEST(LogLines, LineThatIsTooLong_IsSeveralEventsAndNothingIsLost) {
  LogLines lines(LogEvent::Source::out);
  std::string much;
  while (much.size() < 3 * LogLines::longest) much += "x\xe2\x82\xac";
  std::string joined;
  auto events = lines.feed(much);
  EXPECT_GE(events.size(), 2u);
  for (auto& event : lines.feed("\n")) events.push_back(std::move(event));
  for (const auto& event : events) {
    EXPECT_LE(event.message.size(), LogLines::longest);
    joined += event.message;
  }
  EXPECT_TRUE(joined == much);
}

TEST(LogLines, BytesThatAreNoText_AreReplaced) {
  LogLines lines(LogEvent::Source::out);
  const auto events = lines.feed("a\xff\xc3(\xed\xa0\x80z\xe2\x82\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(is_utf8(events[0].message));
  EXPECT_EQ(events[0].message.front(), 'a');
  EXPECT_NE(events[0].message.find('('), std::string::npos);
  EXPECT_NE(events[0].message.find('z'), std::string::npos);
}

TEST(Utf8, TextOfEveryLength_IsUtf8AndItsPartsAreNot) {
  const std::string text = "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80";
  EXPECT_TRUE(is_utf8(text));
  EXPECT_EQ(to_utf8(text), text);
  EXPECT_FALSE(is_utf8("\xf0\x9f\x98"));
  EXPECT_FALSE(is_utf8("\xc0\x80"));
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));
  EXPECT_EQ(incomplete_tail("\xf0\x9f\x98"), 3u);
  EXPECT_EQ(incomplete_tail("a\xe2\x82"), 2u);
  EXPECT_EQ(incomplete_tail(text), 0u);
  EXPECT_EQ(incomplete_tail("\x80\x80\x80\x80"), 0u);
}

}  // namespace
}  // namespace cloche
