#include "bench/report/plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/report/svg.hpp"

namespace cloche::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(NumberText, AnySize_HasThreeDigitsThatCount) {
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(0.0421), "0.042");
  EXPECT_EQ(number_text(4.214), "4.21");
  EXPECT_EQ(number_text(42.14), "42.1");
  EXPECT_EQ(number_text(421.4), "421");
  EXPECT_EQ(number_text(1234567), "1,234,567");
  EXPECT_EQ(number_text(5), "5");
  EXPECT_EQ(number_text(-1500), "-1,500");
}

TEST(Ticks, LinearRange_IsSpannedByRoundNumbers) {
  EXPECT_THAT(ticks(0, 10, Scale::linear), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(ticks(0, 43, Scale::linear), ElementsAre(0, 10, 20, 30, 40, 50));
}

TEST(Ticks, LogarithmicRange_IsSpannedByPowersOfTen) {
  EXPECT_THAT(ticks(1, 20'000, Scale::logarithmic), ElementsAre(1, 10, 100, 1000, 10'000, 100'000));
  EXPECT_THAT(ticks(1, 1, Scale::logarithmic), ElementsAre(1, 2));
}

TEST(Ticks, ShortLogarithmicRange_HasTicksBetweenPowersAndEndsSoon) {
  EXPECT_THAT(ticks(1, 200, Scale::logarithmic), ElementsAre(1, 2, 5, 10, 20, 50, 100, 200));
  EXPECT_THAT(ticks(7, 30, Scale::logarithmic), ElementsAre(5, 10, 20, 50));
}

TEST(Ticks, NoRange_StillHasTwo) { EXPECT_GE(ticks(0, 0, Scale::linear).size(), 2U); }

TEST(EscapeXml, MarkUp_IsText) { EXPECT_EQ(escape_xml("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;"); }

TEST(LinePlot, TwoLines_AreDrawnWithNamesAndLabels) {
  LinePlot plot;
  plot.title = "Runs <a second>";
  plot.x = {"clients", Scale::logarithmic};
  plot.y = {"runs a second", Scale::linear};
  plot.lines = {{"cloche", {{1, 100}, {10, 200}}}, {"docker exec", {{1, 8}, {10, 12}}}};
  const std::string svg = draw(plot);
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count_of(svg, "<path"), 2U);
  EXPECT_EQ(count_of(svg, "<circle"), 6U);  // four points, two in the legend
  for (const char* text : {"clients", "runs a second", "cloche", "docker exec", "Runs &lt;a second&gt;"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
}

TEST(LinePlot, ZeroOnLogarithmicAxis_IsLeftOut) {
  LinePlot plot;
  plot.y.scale = Scale::logarithmic;
  plot.lines = {{"a", {{1, 0}, {2, 5}}}};
  const std::string svg = draw(plot);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_EQ(count_of(svg, "<circle"), 2U);
}

TEST(LinePlot, NoPoints_IsStillADocument) {
  const std::string svg = draw(LinePlot{.lines = {{"a", {}}}});
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(BarPlot, Bars_HaveNamesValuesAndWhiskers) {
  BarPlot plot;
  plot.title = "Warm run";
  plot.label = "ms";
  plot.bars = {{"cloche", 4.2, 4, 5, true}, {"docker exec", 127, 127, 127, false}};
  const std::string svg = draw(plot);
  EXPECT_EQ(count_of(svg, "class=\"ours\""), 1U);
  EXPECT_EQ(count_of(svg, "class=\"other\""), 1U);
  EXPECT_EQ(count_of(svg, "class=\"whisker\""), 1U);
  EXPECT_THAT(svg, HasSubstr(">127<"));
  EXPECT_THAT(svg, HasSubstr(">4.2<"));
}

TEST(BarPlot, AllZero_IsStillADocument) {
  EXPECT_THAT(draw(BarPlot{.bars = {{"a", 0, 0, 0, true}}}), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace cloche::bench
