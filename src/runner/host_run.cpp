#include "runner/host_run.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/deadline.hpp"
#include "core/unique_fd.hpp"
#include "runner/judge/program_plan.hpp"

namespace cloche::runner {

namespace {

constexpr uid_t nobody = 65534;

// Ends a child and all of its session that has not left it.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  // Whether it has ended by itself. It is not reaped for that: until end(), its number stays its own.
  bool has_ended() const {
    siginfo_t about{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid == pid_;
  }
  void end() {
    // Once it is reaped, its number may be that of another process and another group.
    if (reaped_) return;
    ::kill(-pid_, SIGKILL);
    if (::wait4(pid_, &status_, 0, &usage_) == pid_) reaped_ = true;
  }
  int status() const { return status_; }
  const rusage& usage() const { return usage_; }

 private:
  pid_t pid_;
  bool reaped_ = false;
  int status_ = 0;
  rusage usage_{};
};

Result<UniqueFd> memory_file(const std::string& bytes) {
  UniqueFd fd(::memfd_create("stdin", MFD_CLOEXEC));
  if (!fd) return fail_errno("create stdin");
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(fd.get(), bytes.data() + at, bytes.size() - at);
    if (n < 0) return fail_errno("write stdin");
    at += static_cast<std::size_t>(n);
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("create a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Laid out before the fork: after it, nothing but system calls.
struct ChildPlan {
  const char* program;
  std::vector<char*> argv;
  std::vector<char*> env;
  const char* directory;
  int in, out, err, failure;
  bool drop_rights;
};

[[noreturn]] void child_main(const ChildPlan& plan) {
  const auto give_up = [&] {
    const int number = errno;
    (void)!::write(plan.failure, &number, sizeof number);
    ::_exit(127);
  };
  ::setsid();
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (::dup2(plan.in, 0) < 0 || ::dup2(plan.out, 1) < 0 || ::dup2(plan.err, 2) < 0) give_up();
  if (plan.drop_rights && (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0)) give_up();
  if (::chdir(plan.directory) != 0) give_up();
  ::execve(plan.program, plan.argv.data(), plan.env.data());
  give_up();
  ::_exit(127);
}

constexpr std::array<const char*, 3> program_directories{"/usr/local/bin/", "/usr/bin/", "/bin/"};

// Where the program is; a path is taken as it is.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (const char* directory : program_directories) {
    if (::access((directory + name).c_str(), X_OK) == 0) return directory + name;
  }
  return program_directories.back() + name;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

// Takes what is there; false at the end.
bool read_some(int fd, std::string& into, OutputTotals& totals, Bytes most) {
  std::array<char, 65536> buffer{};
  const ssize_t n = ::read(fd, buffer.data(), buffer.size());
  if (n <= 0) return n < 0 && errno == EINTR;
  const std::size_t count = static_cast<std::size_t>(n);
  const std::size_t room = most.count > into.size() ? most.count - into.size() : 0;
  into.append(buffer.data(), std::min(count, room));
  totals.produced.count += count;
  totals.dropped.count += count - std::min(count, room);
  return true;
}

std::chrono::microseconds span(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

void put_status(Outcome& outcome, const Child& child) {
  const int status = child.status();
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome.user = span(child.usage().ru_utime);
  outcome.system = span(child.usage().ru_stime);
  outcome.peak_memory = kib(static_cast<std::uint64_t>(child.usage().ru_maxrss));
}

// Reads until the program has ended and both its outputs are drained, or until a limit. A grandchild that holds the
// pipes open is not waited for.
Ending follow(Child& child, int out, int err, const HostRun& run, Exec::Collected& collected) {
  const Deadline deadline = Deadline::after(run.wall);
  std::array<pollfd, 2> watched{pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  for (;;) {
    if (deadline.passed()) return Ending::wall_limit;
    const bool ended = child.has_ended();
    const int ready = ::poll(watched.data(), watched.size(), ended ? 0 : 20);
    if (ready > 0) {
      if (watched[0].revents != 0 && !read_some(out, collected.out, collected.outcome.out, run.output))
        watched[0].fd = -1;
      if (watched[1].revents != 0 && !read_some(err, collected.err, collected.outcome.err, run.output))
        watched[1].fd = -1;
    }
    const std::uint64_t most = std::max(collected.outcome.out.produced.count, collected.outcome.err.produced.count);
    if (most > run.output.count) return Ending::output_limit;
    if (ended && (ready <= 0 || (watched[0].fd < 0 && watched[1].fd < 0))) {
      child.end();
      return WIFSIGNALED(child.status()) ? Ending::signalled : Ending::exited;
    }
  }
}

}  // namespace

Result<Exec::Collected> run_on_host(const HostRun& run) {
  const std::string program = find_program(run.argv.front());
  std::vector<std::string> argv = run.argv;
  std::map<std::string, std::string> env{
      {"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", run.directory}, {"LANG", "C.UTF-8"}};
  for (const auto& [name, value] : run.env) env[name] = value;
  std::vector<std::string> entries;
  entries.reserve(env.size());
  for (const auto& [name, value] : env) entries.push_back(fmt::format("{}={}", name, value));
  CLOCHE_TRY(const UniqueFd in, memory_file(run.input));
  CLOCHE_TRY(Pipe out, make_pipe());
  CLOCHE_TRY(Pipe err, make_pipe());
  CLOCHE_TRY(Pipe failure, make_pipe());
  const ChildPlan plan{program.c_str(), pointers(argv),  pointers(entries),   run.directory.c_str(), in.get(),
                       out.write.get(), err.write.get(), failure.write.get(), ::geteuid() == 0};

  const auto began = Deadline::Clock::now();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("start the program");
  if (pid == 0) child_main(plan);
  Child child(pid);
  for (Pipe* pipe : {&out, &err, &failure}) pipe->write.reset();
  Exec::Collected collected;
  int number = 0;
  if (::read(failure.read.get(), &number, sizeof number) == sizeof number) {
    collected.outcome.ending = Ending::not_started;
    collected.outcome.exit_code = number == ENOENT ? 127 : 126;
    collected.outcome.reason = errno_error(run.argv.front(), number).message;
    return collected;
  }
  collected.outcome.ending = follow(child, out.read.get(), err.read.get(), run, collected);
  child.end();
  put_status(collected.outcome, child);
  collected.outcome.wall = std::chrono::duration_cast<std::chrono::microseconds>(Deadline::Clock::now() - began);
  return collected;
}

Result<HostDirectory> HostDirectory::make(const FileTree& files) {
  CLOCHE_CHECK(validate_tree(files));
  std::string path = "/tmp/cloche-host.XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail_errno("create a directory");
  HostDirectory directory(path);
  for (const auto& [name, content] : files) {
    const std::filesystem::path file = std::filesystem::path(path) / name;
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    std::ofstream stream(file, std::ios::binary);
    stream.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!stream.flush()) return fail(ErrorCode::internal, "cannot write " + file.string());
  }
  if (::geteuid() == 0) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error)) {
      if (::lchown(entry.path().c_str(), nobody, nobody) != 0) return fail_errno("chown " + entry.path().string());
    }
    if (::chown(path.c_str(), nobody, nobody) != 0) return fail_errno("chown " + path);
  }
  return directory;
}

HostDirectory::~HostDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace cloche::runner
