#include "cli/escape_keys.hpp"

namespace cloche::cli {

EscapeKeys::Typed EscapeKeys::take(std::string_view keys) {
  Typed typed;
  for (const char key : keys) {
    if (state_ == State::line_start && key == '~') {
      state_ = State::after_tilde;
      continue;
    }
    if (state_ == State::after_tilde && key == '.') {
      typed.leaves = true;
      return typed;
    }
    // The first of two was an escape for the second.
    if (state_ == State::after_tilde && key != '~') typed.keys += '~';
    typed.keys += key;
    state_ = key == '\r' || key == '\n' ? State::line_start : State::within_line;
  }
  return typed;
}

}  // namespace cloche::cli
