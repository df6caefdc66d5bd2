#include "images/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>

#include "backend/oci/subprocess.hpp"
#include "core/bytes.hpp"

namespace cloche::images {

namespace {

constexpr const char* program_dirs[] = {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/",
                                        "/usr/bin/",        "/sbin/",          "/bin/"};
constexpr std::size_t most_output = 4 << 20;
constexpr std::size_t longest_line = 4096;
constexpr int look_up_every = 100;  // milliseconds until a cancellation is seen

struct ChildPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* directory;
  int in, out, err;
  pid_t parent;
};

// Runs in the child, where nothing but system calls is allowed: another thread may have held any lock.
[[noreturn]] void become(const ChildPlan& plan) {
  // A session of its own: a terminal's signals are for Cloche, which ends the program itself.
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);
  ::umask(0022);
  if (plan.directory != nullptr && ::chdir(plan.directory) != 0) ::_exit(127);
  // Away from 0 to 2 first, so that none of them is overwritten before it is used.
  const int in = ::fcntl(plan.in, F_DUPFD_CLOEXEC, 10);
  const int out = ::fcntl(plan.out, F_DUPFD_CLOEXEC, 10);
  const int err = ::fcntl(plan.err, F_DUPFD_CLOEXEC, 10);
  if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0) ::_exit(127);
  ::syscall(SYS_close_range, 3u, ~0u, 0);
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &by_default, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.program, plan.arguments, plan.environment);
  ::_exit(127);
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

Result<UniqueFd> file_of(const std::string& bytes) {
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file) return fail_errno("create a file in memory");
  if (::pwrite(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail_errno("write a file in memory");
  return file;
}

Result<std::vector<std::string>> arguments_of(const ProcessSpec& spec) {
  CLOCHE_TRY(const std::string program, find_program(spec.argv.front()));
  std::vector<std::string> argv;
  if (spec.walls == ProcessSpec::Walls::own_processes_and_mounts) {
    CLOCHE_TRY(const std::string unshare, find_program("unshare"));
    argv = {unshare,        "--mount", "--propagation",     "private", "--pid",
            "--mount-proc", "--fork",  "--kill-child=KILL", "--"};
  }
  argv.push_back(program);
  argv.insert(argv.end(), spec.argv.begin() + 1, spec.argv.end());
  return argv;
}

}  // namespace

std::vector<std::string> plain_environment() {
  std::vector<std::string> all = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
                                  "HOME=/root", "DEBIAN_FRONTEND=noninteractive"};
  for (const char* name : {"http_proxy", "https_proxy", "no_proxy"}) {
    if (const char* value = std::getenv(name)) all.push_back(std::string(name) + "=" + value);
  }
  return all;
}

Result<std::string> find_program(const std::string& name) {
  for (const char* directory : program_dirs) {
    const std::string path = directory + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return fail(ErrorCode::not_found, "program not found on this host: " + name);
}

Result<Process> Process::start(const ProcessSpec& spec) {
  CLOCHE_TRY(std::vector<std::string> argv, arguments_of(spec));
  std::vector<std::string> environment = spec.environment;
  const auto arguments = pointers_to(argv);
  const auto variables = pointers_to(environment);
  CLOCHE_TRY(const UniqueFd in, file_of(spec.input));
  ::lseek(in.get(), 0, SEEK_SET);
  UniqueFd err;
  if (spec.errors == ProcessSpec::Errors::apart) {
    CLOCHE_TRY(err, oci::make_bounded_memory(kib(16)));
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("create a pipe");
  UniqueFd out(ends[0]);
  const UniqueFd out_write(ends[1]);
  const ChildPlan plan = {argv.front().c_str(),
                          arguments.data(),
                          variables.data(),
                          spec.directory.empty() ? nullptr : spec.directory.c_str(),
                          in.get(),
                          out_write.get(),
                          err ? err.get() : out_write.get(),
                          ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("start " + spec.argv.front());
  if (pid == 0) become(plan);
  return Process(pid, std::move(out), std::move(err));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), out_(std::move(other.out_)), err_(std::move(other.err_)) {}

Process::~Process() {
  if (pid_ <= 0) return;
  // The whole session; behind walls, the first process of the namespace takes all others with it.
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  (void)wait();
}

Result<std::string> Process::read(const oci::CancelToken& token) {
  for (;;) {
    CLOCHE_CHECK(token.check("wait for a program"));
    pollfd polled = {out_.get(), POLLIN, 0};
    const int ready = ::poll(&polled, 1, look_up_every);
    if (ready < 0 && errno != EINTR) return fail_errno("wait for a program");
    if (ready <= 0) continue;
    std::string bytes(256 << 10, '\0');
    const ssize_t n = ::read(out_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read from a program");
    bytes.resize(static_cast<std::size_t>(n));
    return bytes;
  }
}

Result<int> Process::wait() {
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(pid_, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended < 0) return fail_errno("wait for a program");
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Process::complaints() const { return err_ ? oci::read_bounded_memory(err_.get()) : std::string(); }

Result<int> run_lines(const ProcessSpec& spec, const LineSink& line, const oci::CancelToken& token) {
  CLOCHE_TRY(Process process, Process::start(spec));
  std::string pending;
  for (;;) {
    CLOCHE_TRY(const std::string bytes, process.read(token));
    if (bytes.empty()) break;
    for (const char c : bytes) {
      if (c != '\n' && c != '\r' && pending.size() < longest_line) {
        pending += c;
      } else if (!pending.empty()) {
        line(pending);
        pending.clear();
      }
    }
  }
  if (!pending.empty()) line(pending);
  return process.wait();
}

Result<std::string> output_of(const ProcessSpec& spec, const oci::CancelToken& token) {
  CLOCHE_TRY(Process process, Process::start(spec));
  std::string all;
  for (;;) {
    CLOCHE_TRY(const std::string bytes, process.read(token));
    if (bytes.empty()) break;
    all += bytes;
    if (all.size() > most_output) return fail(ErrorCode::limit_reached, spec.argv.front() + " printed too much");
  }
  CLOCHE_TRY(const int code, process.wait());
  if (code != 0) {
    return fail(ErrorCode::internal,
                spec.argv.front() + " ended with " + std::to_string(code) + ": " + process.complaints().substr(0, 400));
  }
  return all;
}

}  // namespace cloche::images
