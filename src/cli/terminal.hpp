// The terminal this command runs in: raw or as it was, and how large it is.
#pragma once

#include <termios.h>

#include <cstddef>

namespace cloche::cli {

struct WindowSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

// The size of the terminal behind the descriptor; 24 by 80 if it is unknown.
WindowSize window_size(int fd);

// Passes each key as it is pressed, without echo or special meaning, until the object is destroyed. Throws SandboxError
// if the descriptor is not a terminal.
class RawTerminal {
 public:
  enum class Output {
    raw,      // what is printed passes as it is: the program's terminal has done all there is to do
    as_usual  // a line feed moves to the beginning of the next line
  };
  RawTerminal(int fd, Output output);
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() { restore(); }

  void restore();

 private:
  int fd_;
  termios before_ = {};
  bool changed_ = false;
};

}  // namespace cloche::cli
