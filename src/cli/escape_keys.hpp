// EscapeKeys: how to leave a terminal that is connected to a program if it does not respond any more. As with ssh: at
// the beginning of a line, `~.` disconnects and `~~` is a `~`. No I/O.
#pragma once

#include <string>
#include <string_view>

namespace cloche::cli {

class EscapeKeys {
 public:
  struct Typed {
    std::string keys;  // for the program
    bool leaves = false;
  };
  Typed take(std::string_view keys);

 private:
  enum class State { line_start, within_line, after_tilde };
  State state_ = State::line_start;
};

}  // namespace cloche::cli
