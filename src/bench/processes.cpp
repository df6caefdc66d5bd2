#include "bench/processes.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace cloche::bench {

namespace {

namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

fs::path proc(pid_t pid) { return fs::path("/proc") / std::to_string(pid); }

std::vector<pid_t> processes_where(const std::function<bool(pid_t)>& fits) {
  std::vector<pid_t> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size() && fits(pid)) found.push_back(pid);
  }
  return found;
}

// The number behind a word at the start of a line: `VmRSS:   1234 kB`.
std::optional<std::uint64_t> number_after(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(word)) continue;
    std::istringstream rest(line.substr(word.size()));
    std::uint64_t number = 0;
    if (rest >> number) return number;
  }
  return std::nullopt;
}

double kib_of(pid_t pid, const std::string& word) {
  return 1024.0 * static_cast<double>(number_after(slurp(proc(pid) / "status"), word).value_or(0));
}

template <class Add>
void for_each_thread(pid_t pid, Add add) {
  std::error_code failed;
  for (const auto& thread : fs::directory_iterator(proc(pid) / "task", failed)) add(thread.path());
}

// The directory of a process's cgroup in a version 1 hierarchy; empty if there is none.
fs::path cgroup_v1(pid_t pid, const std::string& controller) {
  std::istringstream lines(slurp(proc(pid) / "cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find("," + controller + ",") == std::string::npos) continue;
    for (const std::string& mount : {controller, line.substr(first + 1, second - first - 1)}) {
      const fs::path place = "/sys/fs/cgroup/" + mount + line.substr(second + 1);
      if (std::error_code failed; fs::is_directory(place, failed)) return place;
    }
  }
  return {};
}

fs::path cgroup_v2(pid_t pid) {
  std::istringstream lines(slurp(proc(pid) / "cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3);
  }
  return {};
}

std::optional<std::uint64_t> whole_number(const fs::path& file) {
  std::istringstream text(slurp(file));
  std::uint64_t number = 0;
  if (text >> number) return number;
  return std::nullopt;
}

}  // namespace

std::vector<pid_t> processes_in(std::string_view cgroup_part) {
  return processes_where([&](pid_t pid) { return slurp(proc(pid) / "cgroup").find(cgroup_part) != std::string::npos; });
}

std::vector<pid_t> processes_with(const std::vector<std::string>& words) {
  return processes_where([&](pid_t pid) {
    const std::string line = slurp(proc(pid) / "cmdline");
    return std::ranges::all_of(words, [&](const std::string& word) { return line.find(word) != std::string::npos; });
  });
}

std::optional<double> proportional_memory(pid_t pid) {
  const auto kib = number_after(slurp(proc(pid) / "smaps_rollup"), "Pss:");
  if (!kib) return std::nullopt;
  return 1024.0 * static_cast<double>(*kib);
}

double resident_memory(pid_t pid) { return kib_of(pid, "VmRSS:"); }
double peak_memory(pid_t pid) { return kib_of(pid, "VmHWM:"); }
void reset_peak(pid_t pid) { std::ofstream(proc(pid) / "clear_refs") << "5"; }

std::uint64_t context_switches(pid_t pid) {
  std::uint64_t count = 0;
  for_each_thread(pid, [&](const fs::path& thread) {
    const std::string status = slurp(thread / "status");
    count += number_after(status, "voluntary_ctxt_switches:").value_or(0);
    count += number_after(status, "nonvoluntary_ctxt_switches:").value_or(0);
  });
  return count;
}

std::chrono::nanoseconds cpu_time(pid_t pid) {
  std::chrono::nanoseconds sum{};
  for_each_thread(pid, [&](const fs::path& thread) {
    sum += std::chrono::nanoseconds(whole_number(thread / "schedstat").value_or(0));
  });
  return sum;
}

std::optional<double> kernel_memory_of_cgroup(pid_t pid, std::string_view cgroup_part) {
  std::optional<std::uint64_t> bytes;
  if (const fs::path place = cgroup_v1(pid, "memory"); !place.empty()) {
    if (place.native().find(cgroup_part) == std::string::npos) return std::nullopt;
    bytes = whole_number(place / "memory.kmem.usage_in_bytes");
  } else if (const fs::path unified = cgroup_v2(pid); unified.native().find(cgroup_part) != std::string::npos) {
    bytes = number_after(slurp(unified / "memory.stat"), "kernel ");
  }
  if (!bytes) return std::nullopt;
  return static_cast<double>(*bytes);
}

}  // namespace cloche::bench
