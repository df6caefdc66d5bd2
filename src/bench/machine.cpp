#include "bench/machine.hpp"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <thread>

#include "bench/alternatives/python.hpp"
#include "bench/host_programs.hpp"
#include "process/programs.hpp"

namespace cloche::bench {

namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

std::string load_text() {
  std::ifstream file("/proc/loadavg");
  std::string one;
  std::string five;
  std::string fifteen;
  file >> one >> five >> fifteen;
  return one + ", " + five + ", " + fifteen;
}

}  // namespace

Machine describe_machine(std::string label) {
  Machine machine;
  machine.cpu = cpu_model();
  machine.cores = std::thread::hardware_concurrency();
  struct sysinfo memory{};
  ::sysinfo(&memory);
  machine.memory_gib = static_cast<double>(memory.totalram) * memory.mem_unit / (1 << 30);
  struct utsname kernel{};
  ::uname(&kernel);
  machine.kernel = std::string(kernel.sysname) + " " + kernel.release;
  machine.load = load_text();
  machine.date = now_text();
  machine.build = CLOCHE_BUILD;
  machine.label = std::move(label);
  machine.versions.emplace_back("cloche", CLOCHE_VERSION);
  for (const char* name : {"crun", "runc", "runsc", "bwrap"}) {
    const auto program = process::find_program(name);
    if (!program) continue;
    if (auto said = run_program({*program, "--version"})) machine.versions.emplace_back(name, first_line(*said));
  }
  if (auto said = run_program({host_python, "--version"})) machine.versions.emplace_back("python3", first_line(*said));
  return machine;
}

}  // namespace cloche::bench
