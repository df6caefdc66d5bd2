#include "cli/pty.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <utmp.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace cloche {

namespace {

winsize size_of(unsigned rows, unsigned columns) {
  winsize size = {};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  return size;
}

}  // namespace

PtyCommand::PtyCommand(const testing_support::CommandSpec& spec, unsigned rows, unsigned columns) {
  int ours = -1;
  int theirs = -1;
  winsize size = size_of(rows, columns);
  if (::openpty(&ours, &theirs, nullptr, nullptr, &size) != 0) throw std::runtime_error("cannot make a terminal");
  terminal_.reset(ours);
  kept_.reset(theirs);
  ::fcntl(ours, F_SETFD, FD_CLOEXEC);
  ::fcntl(theirs, F_SETFD, FD_CLOEXEC);
  auto argv = spec.argv;
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ > 0) return;
  for (const auto& [name, value] : spec.env) ::setenv(name.c_str(), value.c_str(), 1);
  if (::login_tty(theirs) == 0) ::execvp(pointers[0], pointers.data());
  ::_exit(127);
}

PtyCommand::~PtyCommand() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void PtyCommand::type(const std::string& keys) const {
  if (::write(terminal_.get(), keys.data(), keys.size()) != static_cast<ssize_t>(keys.size())) {
    throw std::runtime_error("cannot type");
  }
}

void PtyCommand::resize(unsigned rows, unsigned columns) const {
  const winsize size = size_of(rows, columns);
  ::ioctl(terminal_.get(), TIOCSWINSZ, &size);
}

void PtyCommand::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

// False when nothing comes for half a minute, or the program has ended and all was read.
bool PtyCommand::read_some() {
  for (int tenths = 0; tenths < 300; ++tenths) {
    pollfd polled{terminal_.get(), POLLIN, 0};
    if (::poll(&polled, 1, 100) > 0) {
      char buffer[16 * 1024];
      const ssize_t n = ::read(terminal_.get(), buffer, sizeof buffer);
      if (n <= 0) return false;
      printed_.append(buffer, static_cast<std::size_t>(n));
      return true;
    }
    // The test keeps the other end open, so that only the process itself reports its end.
    siginfo_t info = {};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0)
      return false;
  }
  return false;
}

bool PtyCommand::wait_for(const std::string& text) {
  for (;;) {
    const auto found = printed_.find(text, seen_);
    if (found != std::string::npos) {
      seen_ = found + text.size();
      return true;
    }
    if (!read_some()) return false;
  }
}

int PtyCommand::finish() {
  while (read_some()) {
  }
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool PtyCommand::is_as_usual() const {
  termios settings = {};
  if (::tcgetattr(kept_.get(), &settings) != 0) throw std::runtime_error("cannot look at the terminal");
  return (settings.c_lflag & ICANON) != 0 && (settings.c_lflag & ECHO) != 0 && (settings.c_lflag & ISIG) != 0 &&
         (settings.c_oflag & OPOST) != 0;
}

}  // namespace cloche
