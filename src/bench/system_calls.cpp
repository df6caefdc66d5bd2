#include "bench/system_calls.hpp"

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "bench/host_programs.hpp"
#include "process/programs.hpp"

namespace cloche::bench {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

// One that has ended meanwhile counts as traced.
bool is_traced(pid_t pid) {
  std::error_code failed;
  for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", failed)) {
    if (slurp(thread.path() / "status").find("TracerPid:\t0\n") != std::string::npos) return false;
  }
  return true;
}

// The kernel sends no event when a tracer has attached, so it is polled.
Status wait_until_traced(const std::vector<pid_t>& processes) {
  const auto deadline = Deadline::after(10s);
  for (const pid_t pid : processes) {
    while (!is_traced(pid)) {
      if (deadline.passed())
        return fail(ErrorCode::permission_denied, "strace is not allowed to trace process " + std::to_string(pid));
      std::this_thread::sleep_for(5ms);
    }
  }
  return {};
}

}  // namespace

SystemCalls parse_strace_table(const std::string& text) {
  // % time, seconds, usecs/call, calls, errors if there were any, name
  SystemCalls calls;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    double share = 0;
    double seconds = 0;
    double each = 0;
    double count = 0;
    if (!(words >> share >> seconds >> each >> count)) continue;
    std::string name;
    while (words >> name) {
    }
    if (!name.empty() && name != "total") calls[name] += count;
  }
  return calls;
}

Result<SystemCalls> count_system_calls(Surroundings& surroundings, const std::vector<pid_t>& processes,
                                       const std::function<Status()>& work) {
  const auto program = process::find_program("strace");
  if (!program) return fail(ErrorCode::not_found, "strace is not installed");
  const fs::path place = surroundings.make_directory("strace");
  HelperSpec spec;
  spec.argv = {*program, "-f", "-c", "-o", place / "table"};
  for (const pid_t pid : processes) spec.argv.insert(spec.argv.end(), {"-p", std::to_string(pid)});
  spec.log = place / "log";
  CLOCHE_TRY(Helper strace, Helper::start(spec));
  auto done = wait_until_traced(processes);
  if (done) done = work();
  // A zygote forks after the last answer, and a tracer that lets go amid a vfork waits for ever.
  std::this_thread::sleep_for(300ms);
  // It lets go of what it traces, then writes its table.
  strace.signal(SIGINT);
  strace.finish(Deadline::after(20s));
  if (!done) return fail(std::move(done).error());
  return parse_strace_table(slurp(place / "table"));
}

}  // namespace cloche::bench
