// Submissions a second, and what a step costs: small Python, C++ and Java programs, compile and run apart; Python with
// and without a zygote. And how much cpu time and memory of the same program differ from run to run.
//
//   build/dev/bench/runner [rounds]
#include <unistd.h>
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "core/ids.hpp"
#include "core/log.hpp"
#include "runner/code_runner.hpp"
#include "support/target.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;
using testing_support::Target;
using Clock = std::chrono::steady_clock;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "runner: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) die(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double ms(std::chrono::microseconds span) { return static_cast<double>(span.count()) / 1000; }

double at(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

Submission submission(std::string language, std::string source) {
  Submission made;
  made.program.language = std::move(language);
  made.program.source = std::move(source);
  made.program.run_limits.wall = 60s;
  return made;
}

Task<> measure(runner::CodeRunner& runner, const char* what, Submission made, int rounds) {
  std::vector<double> all;
  std::vector<double> compile;
  std::vector<double> run;
  std::vector<double> cpu;
  std::vector<double> memory;
  for (int i = -1; i < rounds; ++i) {
    const auto start = Clock::now();
    auto judged = co_await runner.run(made, Deadline::after(120s));
    const Report report = must(std::move(judged));
    if (!report.passed()) die(std::string(what) + ": " + report.reason + report.compile.err);
    if (i < 0) continue;
    all.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    compile.push_back(report.compile.ran ? ms(report.compile.outcome.wall) : 0);
    run.push_back(ms(report.cases[0].outcome.wall));
    cpu.push_back(ms(report.cases[0].outcome.cpu()));
    memory.push_back(static_cast<double>(report.cases[0].outcome.peak_memory.count) / (1 << 20));
  }
  const double total = std::accumulate(all.begin(), all.end(), 0.0);
  std::printf("| %-26s | %7.1f | %7.1f | %7.1f | %6.1f | %6.1f..%-6.1f | %5.1f..%-5.1f |\n", what,
              1000.0 * rounds / total, at(compile, 0.5), at(run, 0.5), at(all, 0.5), at(cpu, 0.02), at(cpu, 0.98),
              at(memory, 0.02), at(memory, 0.98));
}

Task<> measure_all(asio::thread_pool& threads, int rounds) {
  const Target target{"oci", "crun"};
  testing_support::Scratch scratch;
  const InstanceId instance{"bench-" + random_hex(4)};
  const auto executor = co_await asio::this_coro::executor;
  auto backend = must(testing_support::make_backend(target, executor, threads, scratch, instance));
  ManagerOptions options;
  Profile profile;
  profile.sandbox = testing_support::spec_for(target);
  profile.sandbox.limits.cpus = 2;
  profile.sandbox.limits.memory = mib(512);
  profile.pool.pool_size = 2;
  profile.pool.scale_limit = 4;
  auto languages = must(LanguageRegistry::create());
  for (const char* name : {"cpp", "java", "plain"}) {
    profile.name = name;
    options.profiles.push_back(profile);
  }
  profile.name = "python";
  profile.zygotes.push_back(*languages.find("python")->zygote);
  options.profiles.push_back(profile);
  auto journal = must(pool::Journal::open_in_memory());
  auto manager = must(pool::Manager::create(executor, *backend, std::move(journal), std::move(options),
                                            pool::Tenancy::of_trusted_callers()));
  auto started = co_await manager->start(Deadline::after(60s));
  must(std::move(started));
  runner::CodeRunner runner(executor, *manager, std::move(languages));

  co_await measure(runner, "Python, zygote", submission("python", "print(42)"), rounds);
  Submission plain = submission("python", "print(42)");
  plain.program.command = "python3 main.py";
  plain.program.source.clear();
  plain.program.files["main.py"] = "print(42)";
  co_await measure(runner, "Python, no zygote", plain, rounds);
  const std::string hello = "#include <iostream>\nint main() { std::cout << 42; }\n";
  co_await measure(runner, "C++", submission("cpp", hello), std::max(rounds / 10, 5));
  const std::string java = "class Main { public static void main(String[] a) { System.out.println(42); } }";
  if (::access("/usr/bin/javac", X_OK) == 0) {
    co_await measure(runner, "Java", submission("java", java), std::max(rounds / 20, 5));
  }
  const std::string busy = "x = 0\nfor i in range(1500000): x += i\n";
  co_await measure(runner, "Python, cpu-bound", submission("python", busy), rounds);
  co_await measure(runner, "Python, 64 MiB", submission("python", "x = bytearray(64 << 20)\n"), rounds);
  auto ended = co_await manager->shut_down();
  must(std::move(ended));
}

}  // namespace
}  // namespace cloche

int main(int argc, char** argv) {
  using namespace cloche;
  log::set_up(spdlog::level::err);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  std::printf("| %-26s | %7s | %7s | %7s | %6s | %14s | %12s |\n|---|---|---|---|---|---|---|\n", "one after the other",
              "a sec.", "compile", "run", "all ms", "cpu ms 2..98 %", "MiB 2..98 %");
  asio::io_context io{1};
  asio::thread_pool threads{2};
  asio::co_spawn(io, measure_all(threads, rounds), [](std::exception_ptr error) {
    if (error) die("an exception");
  });
  io.run();
}
