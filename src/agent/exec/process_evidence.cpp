#include "agent/exec/process_evidence.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "agent/sealed_file.hpp"
#include "core/unique_fd.hpp"

namespace cloche::agent {

namespace {

constexpr const char* unreadable = "cannot be read";
constexpr std::size_t largest_sealed_file = 1 << 20;

std::string path_of(pid_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

std::string read_all(int fd, std::size_t most) {
  std::string text;
  char buffer[16 * 1024];
  for (ssize_t n = 0; text.size() < most && (n = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

std::string read_text(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? read_all(fd.get(), 4 << 20) : unreadable;
}

std::string read_link(const std::string& path) {
  char target[4096];
  const ssize_t n = ::readlink(path.c_str(), target, sizeof target);
  return n < 0 ? unreadable : std::string(target, static_cast<std::size_t>(n));
}

template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    visit(text.substr(0, end));
    if (end == text.npos) return;
    text.remove_prefix(end + 1);
  }
}

// Identity, privileges, signals and tracer. Sizes, counts and states change by normal work.
void add_status(pid_t pid, ProcessEvidence& facts) {
  static constexpr std::array names = {
      "Tgid:",   "TracerPid:", "Uid:",    "Gid:",          "Groups:",     "Threads:", "CapInh:",
      "CapPrm:", "CapEff:",    "CapBnd:", "CapAmb:",       "NoNewPrivs:", "SigIgn:",  "SigCgt:",
      "SigBlk:", "Seccomp:",   "PPid:",   "Cpus_allowed:", "NSpid:",      "NStgid:",  "Mems_allowed:"};
  const std::string status = read_text(path_of(pid, "status"));
  if (status == unreadable) facts["status"] = unreadable;
  for_each_line(status, [&](std::string_view line) {
    const auto starts = [&](const char* name) { return line.starts_with(name); };
    if (std::ranges::any_of(names, starts)) facts[std::string(line.substr(0, line.find(':')))] = line;
  });
}

struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_executable = false;
  bool has_file = false;
};

Mapping mapping_of(std::string_view line) {
  Mapping mapping;
  char permissions[8] = {};
  char device[16] = {};
  std::uint64_t inode = 0;
  const std::string text(line);
  std::sscanf(text.c_str(), "%" SCNx64 "-%" SCNx64 " %7s %*s %15s %" SCNu64, &mapping.begin, &mapping.end, permissions,
              device, &inode);
  mapping.is_executable = std::strchr(permissions, 'x') != nullptr;
  mapping.has_file = inode != 0;
  return mapping;
}

// Every mapping of a file, and every one that can be executed; returns the latter where they are of a file.
std::vector<Mapping> add_mappings(pid_t pid, ProcessEvidence& facts) {
  std::vector<Mapping> code;
  std::string kept;
  for_each_line(read_text(path_of(pid, "maps")), [&](std::string_view line) {
    const Mapping mapping = mapping_of(line);
    if (line == unreadable || mapping.is_executable || mapping.has_file) kept.append(line).append("\n");
    if (mapping.is_executable && mapping.has_file) code.push_back(mapping);
  });
  facts["mappings"] = kept;
  return code;
}

// A page of a file that was written to is private to the process. Not every kernel reports it.
void add_written_code(pid_t pid, const std::vector<Mapping>& code, ProcessEvidence& facts) {
  const UniqueFd pagemap(::open(path_of(pid, "pagemap").c_str(), O_RDONLY | O_CLOEXEC));
  if (!pagemap) return;
  constexpr std::uint64_t is_present = 1ULL << 63;
  constexpr std::uint64_t is_swapped = 1ULL << 62;
  constexpr std::uint64_t is_files = 1ULL << 61;
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<std::uint64_t> flags;
  std::string written;
  for (const Mapping& mapping : code) {
    flags.assign((mapping.end - mapping.begin) / page, 0);
    const ssize_t n = ::pread(pagemap.get(), flags.data(), flags.size() * sizeof flags.front(),
                              static_cast<off_t>(mapping.begin / page * sizeof flags.front()));
    if (n < 0) return;
    for (std::size_t i = 0; i < flags.size(); ++i) {
      const bool is_own = (flags[i] & (is_present | is_swapped)) != 0 && (flags[i] & is_files) == 0;
      if (is_own) written += std::to_string(mapping.begin + i * page) + " ";
    }
  }
  facts["written code"] = written;
}

void add_descriptors(pid_t pid, ProcessEvidence& facts) {
  const std::string directory = path_of(pid, "fd");
  DIR* entries = ::opendir(directory.c_str());
  if (entries == nullptr) {
    facts["descriptors"] = unreadable;
    return;
  }
  while (const dirent* entry = ::readdir(entries)) {
    if (entry->d_name[0] == '.') continue;
    const std::string number = entry->d_name;
    const std::string link = directory + "/" + number;
    std::string& fact = facts["descriptor " + number];
    fact = read_link(link);
    if (!fact.starts_with("/memfd:")) continue;
    const UniqueFd file(::open(link.c_str(), O_RDONLY | O_CLOEXEC));
    fact += file && is_sealed(file.get()) ? " sealed " : " not sealed ";
    if (file) fact += read_all(file.get(), largest_sealed_file);
  }
  ::closedir(entries);
}

void add_scheduling(pid_t pid, ProcessEvidence& facts) {
  const auto who = static_cast<id_t>(pid);
  cpu_set_t processors;
  CPU_ZERO(&processors);
  ::sched_getaffinity(pid, sizeof processors, &processors);
  std::string chosen;
  for (int i = 0; i < CPU_SETSIZE; ++i) chosen += CPU_ISSET(i, &processors) ? '1' : '0';
  facts["processors"] = chosen;
  facts["nice value"] = std::to_string(::getpriority(PRIO_PROCESS, who));
  facts["scheduling policy"] = std::to_string(::sched_getscheduler(pid));
  constexpr int of_a_process = 1;
  facts["io priority"] = std::to_string(::syscall(SYS_ioprio_get, of_a_process, pid));
  facts["oom_score_adj"] = read_text(path_of(pid, "oom_score_adj"));
}

void add_limits(pid_t pid, ProcessEvidence& facts) {
  std::string all;
  for (int which = 0; which < RLIM_NLIMITS; ++which) {
    rlimit limit{};
    if (::syscall(SYS_prlimit64, pid, which, nullptr, &limit) != 0) continue;
    all += std::to_string(limit.rlim_cur) + ":" + std::to_string(limit.rlim_max) + " ";
  }
  facts["limits"] = all;
}

}  // namespace

ProcessEvidence evidence_of(pid_t pid, EvidenceOf whose) {
  ProcessEvidence facts;
  add_status(pid, facts);
  add_scheduling(pid, facts);
  add_limits(pid, facts);
  if (whose == EvidenceOf::itself) return facts;
  for (const char* link : {"exe", "cwd", "root"}) facts[link] = read_link(path_of(pid, link));
  const auto code = add_mappings(pid, facts);
  add_written_code(pid, code, facts);
  add_descriptors(pid, facts);
  return facts;
}

std::vector<std::string> differences(const ProcessEvidence& before, const ProcessEvidence& now) {
  std::vector<std::string> names;
  for (const auto& [name, fact] : before) {
    const auto found = now.find(name);
    if (found == now.end() || found->second != fact) names.push_back(name);
  }
  for (const auto& [name, fact] : now) {
    if (!before.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace cloche::agent
