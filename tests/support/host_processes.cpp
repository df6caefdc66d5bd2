#include "support/host_processes.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/command.hpp"
#include "support/read_text.hpp"

namespace cloche::testing_support {

namespace {

std::string read_proc(pid_t pid, const char* file) { return read_text("/proc/" + std::to_string(pid) + "/" + file); }

// The rest of the line of /proc/<pid>/status that begins so.
std::string status_line(pid_t pid, const std::string& begin) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(begin)) return line.substr(begin.size());
  }
  return {};
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == name.npos) pids.push_back(std::stoi(name));
  }
  return pids;
}

// A fake sandbox's outermost process, bubblewrap itself, is a child of ours and was given the sandbox's name as an
// argument.
bool is_in_fake(pid_t pid, const std::string& sandbox_id) {
  bool named = false;
  while (pid > 1 && pid != ::getpid()) {
    named = named || read_proc(pid, "cmdline").find(sandbox_id) != std::string::npos;
    const std::string parent = status_line(pid, "PPid:");
    if (parent.empty()) return false;
    pid = std::stoi(parent);
  }
  return named && pid == ::getpid();
}

bool is_first_of_its_namespace(pid_t pid) {
  const std::string numbers = status_line(pid, "NSpid:");
  return numbers.ends_with("\t1") && numbers != "\t1";
}

}  // namespace

std::string container_of(const std::string& sandbox_id) {
  const std::string filter = "label=cloche.sandbox=" + sandbox_id;
  auto listed = run_command({.argv = {"docker", "-H", std::getenv("CLOCHE_TEST_DOCKER_HOST"), "ps", "-aq", "--no-trunc",
                                      "--filter", filter}});
  return listed.out.substr(0, listed.out.find('\n'));
}

std::vector<pid_t> processes_of(const Target& target, const std::string& sandbox_id) {
  const std::string cgroup = target.backend == "docker" ? container_of(sandbox_id) : sandbox_id;
  std::vector<pid_t> found;
  // A zombie has ended; when it is reaped is up to the host's process 1.
  const auto has_ended = [](pid_t pid) { return status_line(pid, "State:").find('Z') != std::string::npos; };
  if (cgroup.empty() && !target.is_fake()) return found;
  for (const pid_t pid : all_processes()) {
    const bool is_its =
        target.is_fake() ? is_in_fake(pid, sandbox_id) : read_proc(pid, "cgroup").find(cgroup) != std::string::npos;
    if (is_its && !has_ended(pid)) found.push_back(pid);
  }
  return found;
}

pid_t first_process_of(const Target& target, const std::string& sandbox_id) {
  for (const pid_t pid : processes_of(target, sandbox_id)) {
    if (target.is_gvisor() ? read_proc(pid, "cmdline").starts_with("runsc-sandbox") : is_first_of_its_namespace(pid))
      return pid;
  }
  return -1;
}

pid_t process_with(const std::string& words) {
  for (const pid_t pid : all_processes()) {
    if (pid != ::getpid() && read_proc(pid, "cmdline").find(words) != std::string::npos) return pid;
  }
  return 0;
}

std::vector<pid_t> supervisors_of(const Target& target, const std::string& sandbox_id) {
  std::vector<pid_t> found;
  for (const pid_t pid : processes_of(target, sandbox_id)) {
    if (read_proc(pid, "comm") == "cloche-super\n") found.push_back(pid);
  }
  return found;
}

}  // namespace cloche::testing_support
