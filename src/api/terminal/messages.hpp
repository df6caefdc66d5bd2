// Messages between client and terminal besides the bytes: small JSON objects in text messages. No I/O.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "cloche/exec.hpp"
#include "cloche/outcome.hpp"
#include "core/result.hpp"
#include "http/server/request/target.hpp"
#include "wire/exec_messages.hpp"

namespace cloche::api {

struct TerminalResize {
  TerminalSize size;
};
struct TerminalSignal {
  int number = 0;
  wire::SignalTarget target = wire::SignalTarget::group;
};
using TerminalControl = std::variant<TerminalResize, TerminalSignal>;

// {"type": "resize", "rows", "cols"} or {"type": "signal", "signal": "INT" | "SIGINT" | 2, "target": "group" |
// "program" | "tree"}.
Result<TerminalControl> read_terminal_control(std::string_view text);

struct TerminalOptions {
  TerminalSize size;
  std::string command;  // empty: a shell to talk to
};
// ?rows=&cols=&command=
Result<TerminalOptions> read_terminal_options(const http::Query& query);

// {"type": "exit", "exit_code", "signal", "ending", "reason"}
std::string exit_message(const Outcome& outcome, std::string_view reason);
// {"type": "error", "code", "message"}
std::string terminal_error_message(const Error& error);
std::string terminal_error_message(std::string_view code, std::string_view words);

}  // namespace cloche::api
