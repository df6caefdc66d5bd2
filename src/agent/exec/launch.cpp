#include "agent/exec/launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "agent/identity.hpp"
#include "agent/link/descriptors.hpp"
#include "core/signals.hpp"

namespace cloche::agent {

namespace {

[[noreturn]] void report_failure(int report, const char* step, int error) {
  LaunchFailure failure;
  failure.error = error;
  std::snprintf(failure.step, sizeof failure.step, "%s", step);
  [[maybe_unused]] const ssize_t n = ::write(report, &failure, sizeof failure);
  ::_exit(127);
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const auto& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view path_of(const std::vector<std::string>& env) {
  for (const auto& entry : env) {
    if (entry.starts_with("PATH=")) return std::string_view(entry).substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

// The same descriptor under a number that no program's own has.
int out_of_the_way(int fd) { return fd >= 0 && fd <= event_fd ? ::fcntl(fd, F_DUPFD_CLOEXEC, event_fd + 1) : fd; }

// Gives the program its descriptors; all others end at exec.
bool connect(const ProgramFds& given) {
  const ProgramFds fds{out_of_the_way(given.in), out_of_the_way(given.out), out_of_the_way(given.err),
                       given.is_terminal, out_of_the_way(given.event)};
  if (::dup2(fds.in, 0) < 0 || ::dup2(fds.out, 1) < 0 || ::dup2(fds.err, 2) < 0) return false;
  if (given.event >= 0 && ::dup2(fds.event, event_fd) < 0) return false;
  close_on_exec_from(given.event >= 0 ? event_fd + 1 : event_fd);
  return true;
}

}  // namespace

void offer_to_oom_killer() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t n = ::write(fd, "1000", 4);
  ::close(fd);
}

bool give_descriptors(int in, int out, int err) { return connect({.in = in, .out = out, .err = err}); }

int exec_searching(const std::string& name, const std::vector<std::string>& arguments,
                   const std::vector<std::string>& variables) {
  const auto argv = pointers_to(arguments);
  const auto env = pointers_to(variables);
  if (name.find('/') != std::string::npos) {
    ::execve(name.c_str(), argv.data(), env.data());
    return errno;
  }
  int error = ENOENT;
  std::string_view path = path_of(variables);
  while (!name.empty()) {
    const auto colon = path.find(':');
    std::string candidate(path.substr(0, colon));
    if (candidate.empty()) candidate = ".";
    candidate.append("/").append(name);
    ::execve(candidate.c_str(), argv.data(), env.data());
    // A directory that may not be searched holds nothing for this user, as for a shell.
    const int failure = errno;
    const bool is_missing =
        failure == ENOENT || failure == ENOTDIR || (failure == EACCES && ::access(candidate.c_str(), F_OK) != 0);
    if (!is_missing) error = failure;
    if (colon == path.npos) break;
    path.remove_prefix(colon + 1);
  }
  return error;
}

void become_program(const wire::ExecRequest& request, const ProgramFds& fds, int report) {
  ::setsid();
  report = out_of_the_way(report);
  if (fds.is_terminal && ::ioctl(fds.in, TIOCSCTTY, 0) != 0) report_failure(report, "take the terminal", errno);
  if (!connect(fds)) report_failure(report, "connect its descriptors", errno);

  offer_to_oom_killer();
  ::umask(request.umask & 0777);
  for (const auto& limit : request.rlimits) {
    rlimit value{limit.soft, limit.hard};
    if (::setrlimit(static_cast<__rlimit_resource_t>(limit.resource), &value) != 0) {
      report_failure(report, "set a resource limit", errno);
    }
  }
  if (!become(request.uid, request.gid, fds.mark)) report_failure(report, "become the sandbox's user", errno);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) report_failure(report, "give up new privileges", errno);
  if (::chdir(request.cwd.empty() ? "/" : request.cwd.c_str()) != 0)
    report_failure(report, "enter the work directory", errno);

  reset_all_signals();
  const int error = exec_searching(request.argv.front(), request.argv, request.env);
  report_failure(report, ("execute " + request.argv.front()).c_str(), error);
}

}  // namespace cloche::agent
