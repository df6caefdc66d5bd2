// What grep and glob do for each line and each path.
#include <benchmark/benchmark.h>
#include <re2/re2.h>

#include "core/line_splitter.hpp"
#include "pattern/glob_pattern.hpp"

namespace cloche::agent {
namespace {

void glob_match(benchmark::State& state, const char* pattern) {
  const auto compiled = GlobPattern::compile(pattern, Hidden::skip);
  if (!compiled) return state.SkipWithError("refused");
  for (auto _ : state) benchmark::DoNotOptimize(compiled->matches("src/pattern/glob_pattern.cpp"));
}
BENCHMARK_CAPTURE(glob_match, name, "src/agent/files/*.cpp");
BENCHMARK_CAPTURE(glob_match, any_depth, "**/*.{cpp,hpp}");

// Lines of a file of a mebibyte against an expression, as grep goes through them.
void grep_lines(benchmark::State& state, const char* pattern) {
  std::string text;
  while (text.size() < (1 << 20)) text += "a line of some text that is as long as lines of code are\n";
  const re2::RE2 expression(pattern);
  for (auto _ : state) {
    std::size_t matches = 0;
    LineSplitter splitter(std::size_t{64} * 1024);
    std::string_view rest = text;
    while (const auto line = splitter.next(rest)) {
      if (re2::RE2::PartialMatch(re2::StringPiece(line->text.data(), line->text.size()), expression)) ++matches;
    }
    benchmark::DoNotOptimize(matches);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK_CAPTURE(grep_lines, word, "needle");
BENCHMARK_CAPTURE(grep_lines, expression, "n[a-z]+dle [0-9]{3}");

}  // namespace
}  // namespace cloche::agent
