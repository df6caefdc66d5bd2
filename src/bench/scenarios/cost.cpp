// What a warm run costs the machine, independent of its duration: the figures for optimising it.
#include <algorithm>
#include <cstring>
#include <fstream>

#include "bench/alternatives/service_client.hpp"
#include "bench/interrupt.hpp"
#include "bench/processes.hpp"
#include "bench/scenarios/scenario.hpp"
#include "bench/service_process.hpp"
#include "bench/system_calls.hpp"
#include "json/lenient_json.hpp"

namespace cloche::bench {

namespace {

// A service with one session.
struct Subject {
  std::unique_ptr<ServiceProcess> service;
  std::unique_ptr<ExecuteClient> client;
  std::string sandbox;  // its id
};

Result<Subject> make_subject(Surroundings& surroundings, const Target& target, std::map<std::string, std::string> env) {
  ServiceSettings settings;
  settings.target = target;
  settings.warm = 1;
  settings.most_sessions = 1;
  settings.env = std::move(env);
  Subject subject;
  CLOCHE_TRY(subject.service, ServiceProcess::start(surroundings, settings));
  subject.client = std::make_unique<ExecuteClient>(surroundings, subject.service->socket(), "cost");
  for (int i = 0; i < 20; ++i) CLOCHE_CHECK(surroundings.await(subject.client->run_once()));
  ServiceCalls calls(surroundings, subject.service->socket());
  CLOCHE_TRY(const std::string session, surroundings.await(calls.get("/sessions/default/cost")));
  CLOCHE_TRY(const auto parsed, json::parse(session));
  subject.sandbox = json::text(json::find(parsed, "sandbox"));
  if (subject.sandbox.empty() || processes_in(subject.sandbox).empty()) {
    return fail(ErrorCode::not_found, "the processes of the sandbox are not visible");
  }
  return subject;
}

Status run_times(Surroundings& surroundings, const Subject& subject, int count) {
  for (int i = 0; i < count; ++i) {
    CLOCHE_CHECK(Interrupts::check());
    CLOCHE_CHECK(surroundings.await(subject.client->run_once()));
  }
  return {};
}

// The resources that a process has used so far.
struct Use {
  std::uint64_t switches = 0;
  std::chrono::nanoseconds cpu{};
};

std::map<pid_t, Use> use_of(const std::vector<pid_t>& processes) {
  std::map<pid_t, Use> all;
  for (const pid_t pid : processes) {
    all[pid] = {context_switches(pid), cpu_time(pid)};
  }
  return all;
}

// Processes that existed before and after: agent and zygote. Others lived for one run; their time is included in that
// of their parents' children.
Use difference(const std::map<pid_t, Use>& before, const std::map<pid_t, Use>& after) {
  Use sum;
  for (const auto& [pid, use] : after) {
    const auto earlier = before.find(pid);
    if (earlier == before.end()) continue;
    sum.switches += use.switches - earlier->second.switches;
    sum.cpu += use.cpu - earlier->second.cpu;
  }
  return sum;
}

Status count_switches(Surroundings& surroundings, const Subject& subject, Section& section) {
  const int runs = surroundings.pick(50, 500);
  const std::vector<pid_t> server{subject.service->pid()};
  const auto server_before = use_of(server);
  const auto sandbox_before = use_of(processes_in(subject.sandbox));
  CLOCHE_CHECK(run_times(surroundings, subject, runs));
  const Use of_server = difference(server_before, use_of(server));
  const Use of_sandbox = difference(sandbox_before, use_of(processes_in(subject.sandbox)));
  const auto add = [&](const std::string& name, const char* unit, double sum) {
    section.figures.push_back({name, unit, single(sum / runs)});
  };
  const auto milliseconds = [](std::chrono::nanoseconds spent) {
    return std::chrono::duration<double, std::milli>(spent).count();
  };
  add("server, context switches", "per run", static_cast<double>(of_server.switches));
  add("agent and zygote, context switches", "per run", static_cast<double>(of_sandbox.switches));
  add("server, cpu time", "ms per run", milliseconds(of_server.cpu));
  add("agent and zygote, cpu time", "ms per run", milliseconds(of_sandbox.cpu));
  return {};
}

// The times in the response of a run, besides the latency of the client.
Status time_answers(Surroundings& surroundings, const Subject& subject, Section& section) {
  ServiceCalls calls(surroundings, subject.service->socket());
  const std::string body = R"_({"session_id":"cost","code":"print(42)"})_";
  std::vector<double> waited;
  std::vector<double> wall;
  std::vector<double> cpu;
  for (int i = 0; i < surroundings.pick(50, 500); ++i) {
    CLOCHE_CHECK(Interrupts::check());
    const auto start = std::chrono::steady_clock::now();
    CLOCHE_TRY(const std::string answer, surroundings.await(calls.post("/execute", body)));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    CLOCHE_TRY(const auto parsed, json::parse(answer));
    waited.push_back(took.count());
    wall.push_back(1000 * json::real(json::find(parsed, "execution_time")));
    cpu.push_back(1000 * json::real(json::find(parsed, "cpu_time")));
  }
  section.figures.push_back({"time the client waits", "ms", summarise(std::move(waited))});
  section.figures.push_back({"of this, the program, by its supervisor's clock", "ms", summarise(std::move(wall))});
  section.figures.push_back({"of this, the program's cpu time", "ms", summarise(std::move(cpu))});
  return {};
}

void add_calls(Section& section, const std::string& who, const SystemCalls& calls, int runs) {
  constexpr std::size_t shown = 5;
  std::vector<std::pair<double, std::string>> sorted;
  double all = 0;
  for (const auto& [name, count] : calls) {
    sorted.emplace_back(count, name);
    all += count;
  }
  std::ranges::sort(sorted, std::greater<>());
  section.figures.push_back({who + ", system calls", "per run", single(all / runs)});
  for (std::size_t i = 0; i < std::min(shown, sorted.size()); ++i) {
    section.figures.push_back({who + ", of which " + sorted[i].second, "per run", single(sorted[i].first / runs)});
  }
}

Status count_calls(Surroundings& surroundings, const Subject& subject, Section& section) {
  const int runs = surroundings.pick(10, 100);
  const auto work = [&] { return run_times(surroundings, subject, runs); };
  const std::pair<std::string, std::vector<pid_t>> sides[] = {{"server", {subject.service->pid()}},
                                                              {"sandbox", processes_in(subject.sandbox)}};
  for (const auto& [who, processes] : sides) {
    auto calls = count_system_calls(surroundings, processes, work);
    CLOCHE_CHECK(Interrupts::check());
    if (calls) {
      add_calls(section, who, *calls, runs);
    } else {
      section.lacks.push_back({"system calls of the " + who, calls.error().message});
    }
  }
  return {};
}

std::uint64_t read_counter(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::uint64_t count = 0;
  char bytes[sizeof count];
  if (stream.read(bytes, sizeof bytes)) std::memcpy(&count, bytes, sizeof count);
  return count;
}

// A server of its own: what counts also costs.
Result<double> allocations_of_a_run(Surroundings& surroundings, const Target& target) {
  const auto counter = surroundings.make_directory("allocations") / "count";
  std::ofstream(counter, std::ios::binary) << std::string(4096, '\0');
  std::map<std::string, std::string> env{{"LD_PRELOAD", surroundings.options().allocation_counter},
                                         {"CLOCHE_ALLOCATION_COUNT", counter}};
  CLOCHE_TRY(const Subject subject, make_subject(surroundings, target, std::move(env)));
  const int runs = surroundings.pick(20, 200);
  const std::uint64_t before = read_counter(counter);
  if (before == 0) return fail(ErrorCode::internal, "the allocation counter counted nothing");
  CLOCHE_CHECK(run_times(surroundings, subject, runs));
  return static_cast<double>(read_counter(counter) - before) / runs;
}

}  // namespace

Result<Section> measure_cost(Surroundings& surroundings) {
  Section section;
  section.title = "What a warm run costs";
  section.method =
      "`POST /execute` of `print(42)` in one session, one after the other. Figures are sums over many runs, divided by "
      "their number. The kernel counts context switches and cpu time; strace counts system calls, in separate runs; a "
      "counting malloc counts the server's allocations. The client is not included.";
  const auto target = surroundings.main_target();
  if (!target) return without_main_target(std::move(section));
  {
    auto subject = make_subject(surroundings, *target, {});
    CLOCHE_CHECK(Interrupts::check());
    if (!subject) {
      section.lacks.push_back({section.title, subject.error().message});
      return section;
    }
    CLOCHE_CHECK(time_answers(surroundings, *subject, section));
    CLOCHE_CHECK(count_switches(surroundings, *subject, section));
    CLOCHE_CHECK(count_calls(surroundings, *subject, section));
  }
  if (surroundings.options().allocation_counter.empty()) {
    section.lacks.push_back({"allocations", "--allocation-counter is not set; `make bench` builds a counter"});
    return section;
  }
  auto allocations = allocations_of_a_run(surroundings, *target);
  CLOCHE_CHECK(Interrupts::check());
  if (allocations) {
    section.figures.push_back({"server, allocations", "per run", single(*allocations)});
  } else {
    section.lacks.push_back({"allocations", allocations.error().message});
  }
  return section;
}

}  // namespace cloche::bench
