#include "bench/report/markdown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/report/report_json.hpp"

namespace cloche::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Report small_report() {
  Report report;
  report.machine.cpu = "A cpu";
  report.machine.cores = 2;
  report.machine.versions.emplace_back("crun", "crun 1.8.1");
  report.lacks.push_back({"docker", "no engine answers"});
  Section section;
  section.id = "warm";
  section.title = "A warm run";
  section.method = "In turn.";
  section.reference = "cloche";
  section.figures.push_back({"cloche", "ms", summarise({3, 4, 5})});
  section.figures.push_back({"docker exec", "ms", summarise({160, 161, 162})});
  section.figures.push_back({"memory", "MiB", single(12)});
  section.goals.push_back({"warm run", "docker exec", "40 times", "40.3 times", true});
  section.goals.push_back({"warm run", "host", "a third", "0.5 of it", false});
  section.lacks.push_back({"bubblewrap", "line one\nline two"});
  section.plots.push_back({"warm", BarPlot{"Warm run", "ms", {}}});
  report.sections.push_back(std::move(section));
  return report;
}

TEST(Markdown, Figures_HaveUnitQuartilesAndRatio) {
  const std::string page = to_markdown(small_report(), Plots::linked);
  EXPECT_THAT(page, HasSubstr("| cloche | 4 ms | 5 | 3 – 5 | 3 | 1 x |"));
  EXPECT_THAT(page, HasSubstr("| docker exec | 161 ms | 162 | 160 – 162 | 3 | 40 x |"));
}

TEST(Markdown, FigureOfAnotherUnit_HasNoRatio) {
  EXPECT_THAT(to_markdown(small_report(), Plots::linked), HasSubstr("| memory | 12 MiB |  |  |  |  |"));
}

TEST(Markdown, Goals_SayWhetherTheyAreMet) {
  const std::string page = to_markdown(small_report(), Plots::linked);
  EXPECT_THAT(page, HasSubstr("| warm run | docker exec | 40 times | 40.3 times | met |"));
  EXPECT_THAT(page, HasSubstr("| warm run | host | a third | 0.5 of it | **missed** |"));
}

TEST(Markdown, WhatIsMissing_IsNamedOnOneLine) {
  const std::string page = to_markdown(small_report(), Plots::linked);
  EXPECT_THAT(page, HasSubstr("- Not measured: docker: no engine answers\n"));
  EXPECT_THAT(page, HasSubstr("- Not measured: bubblewrap: line one line two\n"));
}

TEST(Markdown, Plots_AreLinkedOrLeftOut) {
  EXPECT_THAT(to_markdown(small_report(), Plots::linked), HasSubstr("![Warm run](warm.svg)"));
  EXPECT_THAT(to_markdown(small_report(), Plots::left_out), Not(HasSubstr(".svg")));
}

TEST(Json, Report_HasFiguresGoalsAndLacks) {
  const std::string text = to_json(small_report());
  EXPECT_THAT(text, HasSubstr(R"("how":"docker exec","unit":"ms","samples":3)"));
  EXPECT_THAT(text, HasSubstr(R"("met":false)"));
  EXPECT_THAT(text, HasSubstr(R"("thing":"docker")"));
  EXPECT_THAT(text, HasSubstr(R"("cpu":"A cpu")"));
}

}  // namespace
}  // namespace cloche::bench
