#include "cli/exec_terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>

#include "cli/client/session_place.hpp"
#include "cli/client/websocket.hpp"
#include "cli/escape_keys.hpp"
#include "cli/stdio.hpp"
#include "cli/terminal.hpp"
#include "cli/text/clean.hpp"
#include "core/async/event.hpp"
#include "core/async/first_of.hpp"
#include "json/lenient_json.hpp"

namespace cloche::cli {

namespace {

constexpr std::chrono::seconds opening_patience{60};
// What the service takes.
constexpr std::size_t largest_window = 1000;

WindowSize bounded(WindowSize size) {
  size.rows = std::min(size.rows, largest_window);
  size.columns = std::min(size.columns, largest_window);
  return size;
}

struct ProgramEnd {
  int exit_code = 0;
  std::string reason;
};

class RemoteTerminal {
 public:
  RemoteTerminal(Executor executor, WebSocket& socket)
      : socket_(socket),
        in_(Descriptor::own(executor, STDIN_FILENO)),
        out_(Descriptor::own(executor, STDOUT_FILENO)),
        resizes_(executor, SIGWINCH),
        // A ^C is typed like any other key; these come from elsewhere.
        ends_(executor, SIGINT, SIGTERM, SIGHUP) {
    ends_.add(SIGQUIT);
  }

  Task<Result<ProgramEnd>> serve() {
    auto first = co_await first_of(show(), type(), follow_size(), wait_for_end());
    if (auto* shown = std::get_if<0>(&first)) co_return std::move(*shown);
    ProgramEnd end;
    end.exit_code = 128 + SIGHUP;
    if (const auto* number = std::get_if<3>(&first)) end.exit_code = 128 + *number;
    co_return end;  // the program goes with the connection
  }

 private:
  Task<Result<ProgramEnd>> show() {
    for (;;) {
      CLOCHE_CO_TRY(const auto message, co_await socket_.read());
      if (!message) co_return fail(ErrorCode::unavailable, "the service closed the terminal");
      if (message->opcode == Opcode::binary) {
        const bool written = co_await out_.write(message->data);
        if (!written) co_return ProgramEnd{128 + SIGHUP, {}};
        continue;
      }
      const auto control_or_error = json::parse_object(message->data);
      if (!control_or_error) co_return fail(ErrorCode::protocol, "the service sent a message that is not JSON");
      const json::object& control = *control_or_error;
      const std::string type = json::text(control, "type");
      if (type == "exit") {
        ProgramEnd end;
        end.exit_code = static_cast<int>(json::number(control, "exit_code"));
        const std::string ending = json::text(control, "ending");
        if (ending != "exited" && ending != "signalled") end.reason = json::text(control, "reason");
        co_return end;
      }
      if (type == "error") co_return fail(ErrorCode::sandbox_lost, json::text(control, "message"));
    }
  }

  // Ends only with the others, or when the way out is typed.
  Task<> type() {
    EscapeKeys escape;
    for (;;) {
      const std::string read = co_await in_.read();
      if (read.empty()) break;
      auto [keys, leaves] = escape.take(read);
      if (leaves) co_return;
      if (keys.empty()) continue;
      auto sent = co_await socket_.write(Opcode::binary, std::move(keys));
      if (!sent) break;
    }
    co_await never();
  }

  Task<> follow_size() {
    for (;;) {
      co_await resizes_.async_wait(asio::use_awaitable);
      const WindowSize size = bounded(window_size(STDOUT_FILENO));
      std::string told = fmt::format(R"({{"type":"resize","rows":{},"cols":{}}})", size.rows, size.columns);
      auto sent = co_await socket_.write(Opcode::text, std::move(told));
      if (!sent) break;
    }
    co_await never();
  }

  Task<int> wait_for_end() {
    const int number = co_await ends_.async_wait(asio::use_awaitable);
    co_return number;
  }

  WebSocket& socket_;
  Descriptor in_;
  Descriptor out_;
  asio::signal_set resizes_;
  asio::signal_set ends_;
};

}  // namespace

Task<Result<int>> exec_on_terminal(Service& service, ExecArguments args) {
  CLOCHE_CO_TRY(const std::string line, terminal_line_for(args));
  CLOCHE_CO_TRY(const SessionPlace place, co_await find_or_make_session(service, args.session, args.tenant));
  const WindowSize size = bounded(window_size(STDOUT_FILENO));
  std::string target = place.target() + fmt::format("/terminal?rows={}&cols={}", size.rows, size.columns);
  if (!line.empty()) target += "&command=" + percent_encoded(line);
  const Deadline deadline = Deadline::after(opening_patience);
  CLOCHE_CO_TRY(const auto socket, co_await WebSocket::open(service, std::move(target), deadline));
  const auto executor = co_await asio::this_coro::executor;
  RemoteTerminal terminal(executor, *socket);
  Result<ProgramEnd> end = ProgramEnd{};
  {
    const RawTerminal raw(STDIN_FILENO, RawTerminal::Output::raw);
    end = co_await terminal.serve();
  }
  if (!end) co_return fail(std::move(end).error());
  if (!end->reason.empty()) std::fprintf(stderr, "cloche: %s\n", printable(end->reason).c_str());
  co_return end->exit_code;
}

}  // namespace cloche::cli
