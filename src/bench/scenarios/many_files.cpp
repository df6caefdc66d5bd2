// A workspace that fills up: artifacts of a run, grep and glob scan every file of it.
#include "bench/interrupt.hpp"
#include "bench/scenarios/growth.hpp"
#include "bench/service_process.hpp"

namespace cloche::bench {

namespace {

// A hundred files per directory, each with two short lines. Existing files stay unchanged.
std::string fill_to(int count) {
  return R"_({"session_id":"files","code":"import os\nfor i in range()_" + std::to_string(count) +
         R"_():\n    name = 'd%d/f%d.txt' % (i // 100, i)\n    os.makedirs(os.path.dirname(name), exist_ok=True)\n)_" +
         R"_(    if not os.path.exists(name):\n        open(name, 'w').write('a line\\nneedle %d\\n' % i)\n)_" +
         R"_(print('full')"})_";
}

std::vector<GrowingCall> calls_of_session() {
  return {
      {"run of print(42), with artifacts", "/execute", R"_({"session_id":"files","code":"print(42)"})_", R"("42\n")"},
      {"grep, one match", "/grep", R"({"session_id":"files","pattern":"needle 7$"})", R"("line":2)"},
      {"glob, one match", "/glob", R"({"session_id":"files","pattern":"**/f7.txt"})", "f7.txt"}};
}

}  // namespace

Result<Section> measure_many_files(Surroundings& surroundings) {
  Section section;
  section.title = "A growing workspace";
  section.method =
      "One session over HTTP. A run searches the whole workspace for files that it changed; grep reads all files; glob "
      "walks all of them.";
  const auto target = surroundings.main_target();
  if (!target) return without_main_target(std::move(section));
  ServiceSettings settings;
  settings.target = *target;
  auto service = ServiceProcess::start(surroundings, settings);
  if (!service) {
    section.lacks.push_back({section.title, service.error().message});
    return section;
  }
  ServiceCalls calls(surroundings, (*service)->socket());
  const auto growing = calls_of_session();
  std::vector<Line> lines(growing.size());
  for (const int count : surroundings.pick(std::vector<int>{10, 1000}, {10, 100, 1000, 10'000})) {
    CLOCHE_CHECK(Interrupts::check());
    auto filled = surroundings.await(calls.post("/execute", fill_to(count)));
    if (!filled || filled->find("full") == std::string::npos) {
      section.lacks.push_back(
          {number_text(count) + " files", filled ? filled->substr(0, 300) : filled.error().message});
      break;
    }
    CLOCHE_CHECK(measure_at(surroundings, calls, growing, count, "files", section, lines));
  }
  section.plots.push_back({"files", LinePlot{"A growing workspace, p50",
                                             {"files in the workspace", Scale::logarithmic},
                                             {"milliseconds", Scale::logarithmic},
                                             std::move(lines)}});
  return section;
}

}  // namespace cloche::bench
