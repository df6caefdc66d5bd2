// What a request's way in costs before anything is done: its head found and read, its body read strictly.
#include <benchmark/benchmark.h>

#include "http/server/request/request_head.hpp"
#include "json/strict_json.hpp"

namespace cloche {
namespace {

constexpr std::string_view request_head =
    "POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 43\r\n"
    "Accept: */*\r\nUser-Agent: bench\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdef\r\n\r\n";

void parse_request_head(benchmark::State& state) {
  for (auto _ : state) {
    http::HeadFinder finder{http::HeadLimits{}};
    auto found = finder.find(request_head);
    if (!found || !*found) state.SkipWithError("no head");
    auto head = http::parse_head(request_head);
    if (!head) state.SkipWithError("refused");
    benchmark::DoNotOptimize(head);
  }
}
BENCHMARK(parse_request_head);

void parse_json(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    auto parsed = parse_strict_json(text, 32);
    if (!parsed) state.SkipWithError("refused");
    benchmark::DoNotOptimize(parsed);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void parse_json_of_a_run(benchmark::State& state) { parse_json(state, R"_({"session_id":"s0","code":"print(42)"})_"); }
BENCHMARK(parse_json_of_a_run);

void parse_json_of_files(benchmark::State& state) {
  std::string text = R"({"session_id":"s0","files":{)";
  for (int i = 0; i < 100; ++i) {
    text += (i > 0 ? ",\"f" : "\"f") + std::to_string(i) + R"(.txt":"a line of text, and another\nof them"})";
    text.pop_back();
  }
  parse_json(state, text + "}}");
}
BENCHMARK(parse_json_of_files);

}  // namespace
}  // namespace cloche
