// More and more sessions: does one notice the others?
#include "bench/interrupt.hpp"
#include "bench/processes.hpp"
#include "bench/scenarios/growth.hpp"
#include "bench/service_process.hpp"

namespace cloche::bench {

namespace {

constexpr double mebibyte = 1 << 20;

Status open_up_to(Surroundings& surroundings, ServiceCalls& calls, int& open, int count) {
  for (; open < count; ++open) {
    CLOCHE_CHECK(Interrupts::check());
    CLOCHE_CHECK(surroundings.await(calls.post("/sessions", R"({"session_id":"s)" + std::to_string(open) + "\"}")));
  }
  return {};
}

std::vector<GrowingCall> calls_of_first() {
  return {{"run of print(42)", "/execute", R"_({"session_id":"s0","code":"print(42)"})_", R"("42\n")"},
          {"bash, echo", "/bash", R"({"session_id":"s0","command":"echo 42"})", R"("42\n")"},
          {"one session looked up", "/sessions/default/s0", "", R"("s0")"},
          {"all sessions listed", "/sessions", "", R"("s0")"}};
}

}  // namespace

Result<Section> measure_many_sessions(Surroundings& surroundings) {
  Section section;
  section.title = "Many sessions";
  section.method =
      "Calls in one session over HTTP, next to an increasing number of idle sessions, each with a warm Python.";
  const auto target = surroundings.main_target();
  if (!target) return without_main_target(std::move(section));
  const std::vector<int> steps = surroundings.pick(std::vector<int>{1, 10}, {1, 10, 50, 200});
  ServiceSettings settings;
  settings.target = *target;
  settings.most_sessions = steps.back();
  auto service = ServiceProcess::start(surroundings, settings);
  if (!service) {
    section.lacks.push_back({section.title, service.error().message});
    return section;
  }
  ServiceCalls calls(surroundings, (*service)->socket());
  const auto growing = calls_of_first();
  std::vector<Line> lines(growing.size());
  int open = 0;
  for (const int count : steps) {
    auto opened = open_up_to(surroundings, calls, open, count);
    CLOCHE_CHECK(Interrupts::check());
    if (!opened) {
      section.lacks.push_back({number_text(count) + " sessions", opened.error().message});
      break;
    }
    CLOCHE_CHECK(measure_at(surroundings, calls, growing, count, count == 1 ? "session" : "sessions", section, lines));
    section.figures.push_back({number_text(count) + (count == 1 ? " session" : " sessions") + ", memory of the server",
                               "MiB", single(resident_memory((*service)->pid()) / mebibyte)});
  }
  section.plots.push_back({"sessions", LinePlot{"One session next to others, p50",
                                                {"sessions", Scale::logarithmic},
                                                {"milliseconds", Scale::logarithmic},
                                                std::move(lines)}});
  return section;
}

}  // namespace cloche::bench
