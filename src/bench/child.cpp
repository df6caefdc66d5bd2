#include "bench/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace cloche::bench {

namespace {

// Directories that are not in the PATH of a plain user.
constexpr const char* further_directories = ":/usr/local/sbin:/usr/sbin:/sbin";

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("create a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(std::map<std::string, std::string> changes) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) all.emplace_back(text);
  }
  for (const auto& [name, value] : changes) all.emplace_back(name).append("=").append(value);
  return all;
}

// posix_spawn's list of what happens to descriptors; freed with the object.
class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void put(int fd, int as) { ::posix_spawn_file_actions_adddup2(&actions_, fd, as); }
  void open(int as, const char* path, int flags) {
    ::posix_spawn_file_actions_addopen(&actions_, as, path, flags, 0600);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

Result<pid_t> spawn(const std::vector<std::string>& argv, const FileActions& actions, char* const* environment) {
  pid_t pid = -1;
  const auto pointers = pointers_to(argv);
  const int failed = ::posix_spawnp(&pid, pointers[0], actions.get(), nullptr, pointers.data(), environment);
  if (failed != 0) return fail(errno_error("start " + argv[0], failed));
  return pid;
}

std::string read_to_end(int fd) {
  std::string all;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count > 0) all.append(buffer, static_cast<std::size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return all;
  }
}

}  // namespace

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  const std::string all = std::string(path != nullptr ? path : "/usr/bin:/bin") + further_directories;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find(':', at), all.size());
    const std::string candidate = all.substr(at, end - at) + "/" + name;
    if (candidate.starts_with('/') && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return {};
}

Result<std::string> run_program(const std::vector<std::string>& argv) {
  CLOCHE_TRY(Pipe out, make_pipe());
  FileActions actions;
  actions.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  actions.put(out.write.get(), STDOUT_FILENO);
  actions.put(out.write.get(), STDERR_FILENO);
  CLOCHE_TRY(const pid_t pid, spawn(argv, actions, environ));
  out.write.reset();
  std::string printed = read_to_end(out.read.get());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(ErrorCode::internal, argv[0] + " failed: " + printed.substr(0, 300));
  }
  return printed;
}

Status expect_output(const std::vector<std::string>& argv, const std::string& wanted) {
  CLOCHE_TRY(const std::string printed, run_program(argv));
  if (printed != wanted) return fail(ErrorCode::internal, argv[0] + " printed: " + printed.substr(0, 300));
  return {};
}

Result<Child> Child::start(const ChildSpec& spec) {
  CLOCHE_TRY(Pipe in, make_pipe());
  CLOCHE_TRY(Pipe out, make_pipe());
  FileActions actions;
  actions.put(in.read.get(), STDIN_FILENO);
  actions.put(out.write.get(), STDOUT_FILENO);
  actions.open(STDERR_FILENO, spec.log.empty() ? "/dev/null" : spec.log.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  const auto entries = environment_with(spec.env);
  const auto environment = pointers_to(entries);
  Child child;
  CLOCHE_TRY(child.pid_, spawn(spec.argv, actions, environment.data()));
  child.in_ = std::move(in.write);
  child.out_ = std::move(out.read);
  return child;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      printed_(std::move(other.printed_)) {}

Child::~Child() {
  if (pid_ > 0) finish(Deadline::after(std::chrono::seconds(90)));
}

void Child::signal(int number) const {
  // kill(-1) would reach every process of this host.
  if (pid_ > 0) ::kill(pid_, number);
}

Status Child::wait_for(const std::string& text, Deadline deadline) {
  while (printed_.find(text) == std::string::npos) {
    pollfd polled{out_.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left()).count();
    const int ready = ::poll(&polled, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return fail(ErrorCode::timeout, "it did not print `" + text + "` in time");
    char buffer[4096];
    const ssize_t count = ::read(out_.get(), buffer, sizeof buffer);
    if (count <= 0) return fail(ErrorCode::unavailable, "it ended without printing `" + text + "`");
    printed_.append(buffer, static_cast<std::size_t>(count));
  }
  return {};
}

bool Child::has_ended_by(Deadline deadline, int& status) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd polled{process.get(), POLLIN, 0};
  for (;;) {
    if (::waitpid(pid_, &status, WNOHANG) == pid_) return true;
    if (deadline.passed()) return false;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left()).count();
    ::poll(&polled, 1, static_cast<int>(left));
  }
}

int Child::finish(Deadline deadline) {
  if (pid_ <= 0) return 0;
  in_.reset();
  int status = 0;
  if (!has_ended_by(deadline, status)) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  return status;
}

}  // namespace cloche::bench
