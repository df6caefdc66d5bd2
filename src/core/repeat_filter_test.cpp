#include "core/repeat_filter.hpp"

#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

#include "core/log.hpp"
#include "core/log_repeats.hpp"

namespace cloche::log {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const RepeatFilter::Time start{1000s};

TEST(KindOfMessage, NumbersAndIds_AreOfOneKind) {
  EXPECT_EQ(kind_of("pool python: cloche-python-8f3a-0002 died: exit 3"), "pool python: # died: exit #");
  EXPECT_EQ(kind_of("sandbox s-0a1b: gone"), kind_of("sandbox s-77ff: gone"));
  EXPECT_NE(kind_of("pool python: gone"), kind_of("pool java: gone"));
}

TEST(RepeatFilter, FirstOfAKind_PassAndTheRestAreCountedOnce) {
  RepeatFilter filter;
  std::uint32_t written = 0;
  for (int i = 0; i < 5000; ++i) written += filter.admit(4, "line " + std::to_string(i), start) ? 1 : 0;
  EXPECT_EQ(written, RepeatFilter::most_of_a_kind);
  EXPECT_TRUE(filter.admit(4, "another line", start));
  EXPECT_TRUE(filter.admit(3, "line 1", start)) << "another level is another kind";
  EXPECT_THAT(filter.take(RepeatFilter::Due::over, start + 5s), IsEmpty());
  const auto told = filter.take(RepeatFilter::Due::over, start + RepeatFilter::window);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].count, 5000 - RepeatFilter::most_of_a_kind);
  EXPECT_EQ(told[0].last, "line 4999");
  EXPECT_EQ(told[0].over, 10s);
  EXPECT_TRUE(filter.admit(4, "line 7", start + 11s)) << "a new window";
  EXPECT_THAT(filter.take(RepeatFilter::Due::all, start + 12s), IsEmpty());
}

TEST(RepeatFilter, EverNewKinds_HaveABound) {
  RepeatFilter filter;
  std::size_t written = 0;
  std::string word = "a";
  for (int i = 0; i < 5000; ++i) {
    written += filter.admit(4, word, start) ? 1 : 0;
    for (std::size_t at = 0;; ++at) {
      if (at == word.size()) word += static_cast<char>('a' - 1);
      if (word[at] < 'z') {
        ++word[at];
        break;
      }
      word[at] = 'a';
    }
  }
  EXPECT_LE(written, RepeatFilter::most_kinds + RepeatFilter::most_of_a_kind);
}

RepeatFilter::Time clock_of_test;

TEST(CountRepeated, Flood_BecomesAFewLinesAndACount) {
  std::ostringstream lines;
  auto into = std::make_shared<spdlog::sinks::ostream_sink_st>(lines);
  clock_of_test = start;
  spdlog::logger logger("test", count_repeated(into, [] { return clock_of_test; }));
  logger.set_formatter(make_formatter(Form::text));
  for (int i = 0; i < 264'000; ++i) logger.error("pool session: sandbox {} could not be made", i);
  clock_of_test += 40s;
  logger.flush();
  const std::string text = lines.str();
  EXPECT_EQ(std::ranges::count(text, '\n'), RepeatFilter::most_of_a_kind + 1);
  EXPECT_THAT(text, HasSubstr("sandbox 263999 could not be made (and 263990 more like this in 40 s)"));
}

}  // namespace
}  // namespace cloche::log
