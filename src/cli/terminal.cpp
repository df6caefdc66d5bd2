#include "cli/terminal.hpp"

#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "cloche/errors.hpp"

namespace cloche::cli {

WindowSize window_size(int fd) {
  winsize size = {};
  WindowSize window;
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return window;
  if (size.ws_row > 0) window.rows = size.ws_row;
  if (size.ws_col > 0) window.columns = size.ws_col;
  return window;
}

RawTerminal::RawTerminal(int fd, Output output) : fd_(fd) {
  if (::tcgetattr(fd_, &before_) != 0) throw SandboxError(std::string("not a terminal: ") + std::strerror(errno));
  termios raw = before_;
  ::cfmakeraw(&raw);
  if (output == Output::as_usual) raw.c_oflag |= before_.c_oflag & (OPOST | ONLCR);
  if (::tcsetattr(fd_, TCSADRAIN, &raw) != 0) throw SandboxError(std::string("set terminal: ") + std::strerror(errno));
  changed_ = true;
}

void RawTerminal::restore() {
  if (!changed_) return;
  changed_ = false;
  int left = 0;
  do {
    left = ::tcsetattr(fd_, TCSADRAIN, &before_);
  } while (left != 0 && errno == EINTR);
}

}  // namespace cloche::cli
