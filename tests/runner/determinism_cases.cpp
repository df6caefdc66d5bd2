// The same program gets the same verdict every time, and figures that can be compared. How far they spread is for a
// benchmark to say; here are bounds that hold on a busy machine.
#include <algorithm>
#include <cstdio>

#include "runner/runner.hpp"

namespace cloche {

namespace {

constexpr std::size_t runs = 200;

// Of the first number to the last, when they are sorted.
struct Spread {
  double least = 0;
  double median = 0;
  double most = 0;
};

template <class Of>
Spread spread_of(const Report& report, Of of) {
  std::vector<double> all;
  for (const CaseReport& each : report.cases) all.push_back(of(each));
  std::sort(all.begin(), all.end());
  return {all.front(), all[all.size() / 2], all.back()};
}

Submission repeated(std::string source) {
  Submission submission = in_language("c", std::move(source));
  submission.cases.assign(runs, expecting("", "done\n"));
  submission.program.run_limits.wall = 60s;
  return submission;
}

void expect_all_passed(const Report& report) {
  ASSERT_EQ(report.cases.size(), runs);
  for (const CaseReport& each : report.cases) EXPECT_EQ(said(each), "success");
}

}  // namespace

RUNNER(CpuBoundProgramRunTwoHundredTimes_AlwaysPassesWithTimesOfOneSize) {
  if (fake_has_no("limits") || lacks("gcc")) return;
  const Report report = judge(repeated(R"(
    #include <stdio.h>
    int main() { volatile unsigned x = 1; for (int i = 0; i < 20000000; ++i) x = x * 1664525u + 1013904223u; puts("done"); })"));
  expect_all_passed(report);
  if (HasFatalFailure()) return;
  const Spread cpu = spread_of(report, [](const CaseReport& each) { return each.outcome.cpu().count() / 1000.0; });
  std::printf("cpu ms: least %.1f, median %.1f, most %.1f\n", cpu.least, cpu.median, cpu.most);
  EXPECT_GT(cpu.least, 0);
  EXPECT_LT(cpu.median, cpu.least * 10);
}

RUNNER(MemoryBoundProgramRunTwoHundredTimes_AlwaysPassesWithPeaksOfOneSize) {
  if (fake_has_no("limits") || lacks("gcc")) return;
  const Report report = judge(repeated(R"(
    #include <stdio.h>
    #include <stdlib.h>
    int main() {
      volatile char* p = malloc(40 << 20);
      for (int i = 0; i < 40 << 20; i += 4096) p[i] = 1;
      puts("done");
    })"));
  expect_all_passed(report);
  if (HasFatalFailure()) return;
  const Spread peak =
      spread_of(report, [](const CaseReport& each) { return static_cast<double>(each.outcome.peak_memory.count); });
  std::printf("peak MiB: least %.2f, median %.2f, most %.2f\n", peak.least / (1 << 20), peak.median / (1 << 20),
              peak.most / (1 << 20));
  EXPECT_GE(peak.least, 40 << 20);
  EXPECT_LE(peak.most, 44 << 20);
}

}  // namespace cloche
