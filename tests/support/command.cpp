#include "support/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>

namespace cloche::testing_support {

namespace {

using Clock = std::chrono::steady_clock;

UniqueFd file_of(const std::string& bytes) {
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file || ::pwrite(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("cannot make a file in memory");
  }
  return file;
}

std::vector<std::string> environment(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    all[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  for (const auto& [name, value] : changes) all[name] = value;
  std::vector<std::string> entries;
  entries.reserve(all.size());
  for (const auto& [name, value] : all) entries.emplace_back(name).append("=").append(value);
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (auto& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Command::Command(const CommandSpec& spec) {
  auto argv = spec.argv;
  auto env = environment(spec.env);
  const auto argv_pointers = pointers_to(argv);
  const auto env_pointers = pointers_to(env);
  const UniqueFd in = file_of(spec.input);
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("cannot make pipes");
  out_.reset(out[0]);
  err_.reset(err[0]);
  const UniqueFd out_write(out[1]);
  const UniqueFd err_write(err[1]);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) {
    ::dup2(in.get(), 0);
    ::dup2(out_write.get(), 1);
    ::dup2(err_write.get(), 2);
    if (spec.directory.empty() || ::chdir(spec.directory.c_str()) == 0) {
      ::execvpe(argv_pointers[0], argv_pointers.data(), env_pointers.data());
    }
    ::_exit(127);
  }
}

Command::~Command() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Command::signal(int number) const {
  // kill(-1) would reach every process of this host.
  if (pid_ > 0) ::kill(pid_, number);
}

// False when both outputs have ended or the time is up.
bool Command::read_some(Clock::time_point deadline) {
  pollfd polled[2] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};  // a closed one is -1, which poll skips
  if (!out_ && !err_) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  if (left <= 0 || ::poll(polled, 2, static_cast<int>(left)) <= 0) return false;
  for (int i = 0; i < 2; ++i) {
    UniqueFd& fd = i == 0 ? out_ : err_;
    if (polled[i].revents == 0) continue;
    char buffer[64 * 1024];
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n > 0) {
      (i == 0 ? end_.out : end_.err).append(buffer, static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      fd.reset();
    }
  }
  return true;
}

bool Command::wait_for(const std::string& text) {
  const auto deadline = Clock::now() + std::chrono::seconds(60);
  while (end_.out.find(text) == std::string::npos) {
    if (!read_some(deadline)) return false;
  }
  return true;
}

CommandEnd Command::finish(std::chrono::seconds patience) {
  if (pid_ <= 0) return end_;
  const auto deadline = Clock::now() + patience;
  while (read_some(deadline)) {
  }
  if (Clock::now() >= deadline) ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  end_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end_;
}

CommandEnd run_command(const CommandSpec& spec) {
  Command command(spec);
  return command.finish();
}

}  // namespace cloche::testing_support
