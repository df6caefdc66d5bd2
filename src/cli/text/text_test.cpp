// The layout of tables, colors, progress and shell words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "cli/text/clean.hpp"
#include "cli/text/colour.hpp"
#include "cli/text/progress.hpp"
#include "cli/text/shell_quote.hpp"
#include "cli/text/table.hpp"
#include "cli/text/units.hpp"

namespace cloche::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Paint plain(Paint::Use::none);
const Paint coloured(Paint::Use::colours);

TEST(Printable, ControlCharacters_CannotDoAnything) {
  EXPECT_EQ(printable("a\033[31mb\007"), "a?[31mb?");
  EXPECT_EQ(printable("one\ntwo\tthree\r"), "one two three?");
  EXPECT_EQ(printable_lines("one\ntwo\033"), "one\ntwo?");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "?x");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m")
      << "a control character of eight bits, in UTF-8";
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "gpj.exe"),
            "?gpj.exe")
      << "one that turns the direction of writing";
}

TEST(Printable, TextOfPeople_StaysAsItIs) {
  EXPECT_EQ(printable("Grüße, 世界 🙂"), "Grüße, 世界 🙂");
  EXPECT_EQ(printable("\xff"), "\xef\xbf\xbd");
}

TEST(DisplayWidth, WideAndAccented_AreCountedAsShown) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("ü"), 1u);
  EXPECT_EQ(display_width("e\xcc\x81"), 1u) << "an accent of its own";
  EXPECT_EQ(display_width("世界"), 4u);
  EXPECT_EQ(cut_to_width("世界abc", 5), "世界…");
  EXPECT_EQ(cut_to_width("世界abc", 4), "世…");
  EXPECT_EQ(cut_to_width("abc", 3), "abc");
  EXPECT_EQ(cut_to_width("abc", 0), "");
}

TEST(Table, Rows_StandUnderTheirTitles) {
  Table table({{"NAME"}, {"N", Table::Align::right}, {"WORDS"}});
  table.add({std::string("a"), std::string("1"), std::string("x")});
  table.add({std::string("longer"), std::string("100"), std::string("")});
  EXPECT_EQ(table.text(plain), "NAME      N  WORDS\na         1  x\nlonger  100  \n");
}

TEST(Table, HostileCells_StayInTheirLine) {
  Table table({{"NAME"}, {"STATE"}});
  table.add({std::string("x\n\033[2Jroot  live"), {"live", Colour::good}});
  const auto lines = table.lines(plain);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1], "x ?[2Jroot  live  live");
}

TEST(Table, NarrowTerminal_CutsLines) {
  Table table({{"NAME"}, {"WORDS"}});
  table.add({std::string("abc"), std::string("a long text")});
  for (const std::string& line : table.lines(plain, 10)) EXPECT_LE(display_width(line), 10u) << line;
  EXPECT_THAT(table.lines(plain, 10)[1], HasSubstr("…"));
  EXPECT_EQ(table.lines(plain, 1).size(), 2u);
}

TEST(Colours, AreForTerminalsThatWantThem) {
  const auto chosen = [](ColourMode mode, ColourHints hints) {
    return choose_colours(mode, hints) == Paint::Use::colours;
  };
  const ColourHints terminal{true, nullptr, "xterm"};
  EXPECT_TRUE(chosen(ColourMode::automatic, terminal));
  EXPECT_FALSE(chosen(ColourMode::automatic, {false, nullptr, "xterm"}));
  EXPECT_FALSE(chosen(ColourMode::automatic, {true, "1", "xterm"}));
  EXPECT_TRUE(chosen(ColourMode::automatic, {true, "", "xterm"})) << "an empty NO_COLOR says nothing";
  EXPECT_FALSE(chosen(ColourMode::automatic, {true, nullptr, "dumb"}));
  EXPECT_FALSE(chosen(ColourMode::automatic, {true, nullptr, nullptr}));
  EXPECT_FALSE(chosen(ColourMode::never, terminal));
  EXPECT_TRUE(chosen(ColourMode::always, {false, "1", "dumb"})) << "who says always means it";
  EXPECT_EQ(coloured(Colour::bad, "x"), "\033[31mx\033[0m");
  EXPECT_EQ(plain(Colour::bad, "x"), "x");
}

TEST(Progress, Bytes_ShowHowFarItIs) {
  const Amount half{1 << 20, std::uint64_t{2} << 20};
  const std::string line = progress_text("data", half, std::chrono::seconds(2), 100);
  EXPECT_EQ(line, "data  [##########----------]   50 %  1.0 MiB of 2.0 MiB  512.0 KiB/s");
  EXPECT_EQ(progress_text("data", {10, std::nullopt}, std::chrono::seconds(0), 100), "data  10 B");
  EXPECT_THAT(progress_text("data", {0, 0}, std::chrono::seconds(0), 100), HasSubstr("[####################]"));
  EXPECT_EQ(display_width(progress_text("data", half, std::chrono::seconds(2), 20)), 20u);
  EXPECT_THAT(step_text("python", {1, 4}, std::chrono::seconds(3), "Unpacking\033[2J", 80),
              testing::AllOf(HasSubstr("2 of 4"), HasSubstr("3s"), Not(HasSubstr("\033"))));
}

TEST(Units, AreShort) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(size_text(std::uint64_t(-1)), "16.0 EiB");
  EXPECT_EQ(span_text(std::chrono::seconds(-5)), "0s");
  EXPECT_EQ(span_text(std::chrono::seconds(119)), "119s");
  EXPECT_EQ(span_text(std::chrono::minutes(5)), "5m");
  EXPECT_EQ(span_text(std::chrono::hours(5)), "5h");
  EXPECT_EQ(span_text(std::chrono::hours(50)), "2d");
  using namespace std::chrono;
  EXPECT_EQ(age_text("2031-05-17T09:30:00Z", sys_days(2031y / 5 / 17) + 9h + 31min), "60s");
  EXPECT_EQ(age_text("yesterday", sys_days(2031y / 5 / 17)), "-");
  EXPECT_EQ(time_left_text("2031-05-17T09:32:00Z", sys_days(2031y / 5 / 17) + 9h + 31min), "60s");
  EXPECT_EQ(time_left_text("", sys_days(2031y / 5 / 17)), "-");
}

std::string read_back_by_sh(const std::string& line) {
  const std::string command = "printf '%s\\036' " + line;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> shell(::popen(command.c_str(), "re"), ::pclose);
  std::string out;
  for (int c = std::fgetc(shell.get()); c != EOF; c = std::fgetc(shell.get())) out += static_cast<char>(c);
  return out;
}

TEST(ShellQuote, AnyWords_AreReadBackAsTheyAre) {
  const std::vector<std::string> words{"plain",   "",      "two words", "it's",       "$(id)", "`id`",  "a\nb",
                                       "\\",      "\"",    "*",         "~",          "-n",    "a=b",   "!x",
                                       "#c",      ";ls",   "&",         "|",          "<a>",   "''",    "$HOME",
                                       "ü世\xff", "{a,b}", "\t \n",     "'\\''$x'\"", "%s",    "[a-z]", "\001\033"};
  std::string wanted;
  for (const std::string& word : words) wanted += word + "\036";
  EXPECT_EQ(read_back_by_sh(quote_words(words)), wanted);
  EXPECT_EQ(quote_word("a-b_c./d"), "a-b_c./d");
  EXPECT_EQ(quote_word("it's"), R"('it'\''s')");
}

}  // namespace
}  // namespace cloche::cli
