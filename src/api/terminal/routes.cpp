#include "api/terminal/routes.hpp"

#include "api/session_access.hpp"
#include "api/session_auth_check.hpp"
#include "api/terminal/messages.hpp"
#include "core/async/event.hpp"
#include "core/async/first_of.hpp"
#include "core/fault_point.hpp"
#include "core/log.hpp"
#include "http/server/websocket.hpp"
#include "session/runs/runs.hpp"

namespace cloche::api {

namespace {

using session::SessionStore;

// Codes of RFC 6455.
constexpr std::uint16_t normal_end = 1000;
constexpr std::uint16_t not_as_agreed = 1008;
constexpr std::uint16_t failed_inside = 1011;

// For a program that does not read what is typed. The terminal's own buffer and the channel's take a lot before.
constexpr std::chrono::seconds typing_timeout{60};

// To start its program.
constexpr std::chrono::seconds terminal_start_timeout{60};

// For the program of a caller that is no longer authorized to end, and for the message about its end.
constexpr std::chrono::seconds parting_timeout{5};

// A shell to talk to: bash where there is one.
constexpr const char* any_shell = "command -v bash >/dev/null 2>&1 && exec bash -i; exec sh -i";
// On gVisor's terminals readline sees the end of its input at once; the terminal's own editing works.
constexpr const char* any_shell_on_gvisor = "command -v bash >/dev/null 2>&1 && exec bash --noediting -i; exec sh -i";

ExecSpec spec_of(const TerminalOptions& options, const TerminalRules& rules, const LiveSandbox& sandbox) {
  const std::string shell = sandbox.kernel() == Kernel::own ? any_shell_on_gvisor : any_shell;
  ExecSpec spec = ExecSpec::shell(options.command.empty() ? shell : options.command);
  spec.terminal = options.size;
  spec.stdin_mode = Stdin::stream;
  spec.wall_limit = rules.wall;
  // Nothing is dropped: a client that does not read holds the program up.
  spec.keep_output = Bytes{0};
  spec.stop_output = Bytes{0};
  return spec;
}

// What a program on a terminal holds: its session, a place among the session's runs, one among the tenant's.
struct TerminalHold {
  session::SessionUse use;
  session::SessionPlace place;
  auth::QuotaTicket ticket;
};

// One program and one client. One coroutine writes everything that the client receives; the others stop the program and
// record why.
class Terminal {
 public:
  // What it holds is let go of as soon as the program has ended: the last words to a slow client do not keep it.
  Terminal(http::WebSocket& socket, Exec& exec, std::optional<TerminalHold>& hold)
      : socket_(socket), exec_(exec), hold_(hold) {}

  // To the program's end, or the client's.
  Task<Status> serve(const Call& call, std::chrono::steady_clock::duration idle) {
    SessionAuthCheck auth_check(call);
    auto ended =
        co_await first_of(show(), type(), watch_idle(idle), watch_server(call.exchange), watch_auth(auth_check));
    if (auto* shown = std::get_if<0>(&ended)) co_return std::move(*shown);
    co_return Status{};  // the client is gone, and the program goes with the exec
  }

 private:
  // What the program prints, and how it ended. Closes before it returns: a reader that is cancelled would break the
  // WebSocket.
  Task<Status> show() {
    for (;;) {
      auto next = co_await exec_.next();
      fault_point<"service.terminal">();
      touch();
      if (!next) {
        hold_.reset();
        const std::string told = terminal_error_message(next.error());
        CLOCHE_CO_CHECK(co_await socket_.write(http::MessageKind::text, told));
        co_return co_await socket_.close(failed_inside, "the connection to the terminal was lost");
      }
      if (const auto* outcome = std::get_if<Outcome>(&*next)) {
        hold_.reset();
        const std::string told =
            revoked_ ? terminal_error_message(revoked_->code, revoked_->message) : exit_message(*outcome, reason_);
        CLOCHE_CO_CHECK(co_await socket_.write(http::MessageKind::text, told));
        co_return co_await socket_.close(close_code_, "the program has ended");
      }
      const auto& output = std::get<Output>(*next);
      CLOCHE_CO_CHECK(co_await socket_.write(http::MessageKind::binary, output.bytes));
    }
  }

  // What the client types. Returns when the client has gone.
  Task<> type() {
    for (;;) {
      auto read = co_await socket_.read();
      if (!read || !*read) co_return;
      if (revoked_) continue;
      touch();
      http::WebSocketMessage message = std::move(**read);
      auto taken = co_await take(std::move(message));
      if (!taken) end_program(not_as_agreed, taken.error().message);
    }
  }

  Task<Status> take(http::WebSocketMessage message) {
    if (message.kind == http::MessageKind::binary) {
      const Deadline deadline = Deadline::after(typing_timeout);
      co_return co_await exec_.write_stdin(std::move(message.data), deadline);
    }
    CLOCHE_CO_TRY(const TerminalControl control, read_terminal_control(message.data));
    if (const auto* resize = std::get_if<TerminalResize>(&control)) exec_.resize(resize->size);
    if (const auto* signal = std::get_if<TerminalSignal>(&control)) exec_.signal(signal->number, signal->target);
    co_return Status{};
  }

  Task<> watch_idle(std::chrono::steady_clock::duration idle) {
    while (Deadline::Clock::now() - last_ < idle) {
      co_await pause_for(idle - (Deadline::Clock::now() - last_));
      if (is_paused()) touch();
    }
    end_program(normal_end, "idle timeout");
    co_await never();
  }

  Task<> watch_server(http::Exchange& exchange) {
    co_await exchange.wait_until_server_stops();
    if (is_paused()) co_return;  // the program cannot end
    end_program(normal_end, "the server is stopping");
    co_await never();
  }

  // Ends the program, and if that or the client takes too long, the line.
  Task<> watch_auth(SessionAuthCheck& auth_check) {
    auto out = co_await auth_check.wait_until_over();
    revoked_ = std::move(out);
    end_program(not_as_agreed, revoked_->message);
    co_await pause_for(parting_timeout);
  }

  void end_program(std::uint16_t code, std::string reason) {
    if (!reason_.empty()) return;
    close_code_ = code;
    reason_ = std::move(reason);
    exec_.stop();
  }

  void touch() { last_ = Deadline::Clock::now(); }
  bool is_paused() const { return hold_ && hold_->use->state() == session::SessionState::paused; }

  http::WebSocket& socket_;
  Exec& exec_;
  std::optional<TerminalHold>& hold_;
  Deadline::Clock::time_point last_ = Deadline::Clock::now();
  std::uint16_t close_code_ = normal_end;
  std::string reason_;  // why the program was stopped, if it was
  std::optional<Revoked> revoked_;
};

Task<Status> serve_terminal(SessionStore& store, auth::Quotas& quotas, TerminalRules rules, Call& call) {
  if (!http::list_has(call.exchange.field("Upgrade"), "websocket")) {
    [[maybe_unused]] auto refused = co_await http::accept_websocket(call.exchange);
    co_return Status{};  // by 426
  }
  CLOCHE_CO_TRY(const http::Query query, call.exchange.query());
  CLOCHE_CO_TRY(const TerminalOptions options, read_terminal_options(query));
  CLOCHE_CO_TRY(const auto tenant, call.tenant(std::string(call.path["tenant"])));
  auto ticket = quotas.begin_run(tenant);
  if (!ticket) {
    auth::OverQuota over = std::move(ticket).error();
    co_await answer_over_quota(call.exchange, std::move(over));
    co_return Status{};
  }
  auto used = co_await use_session(call, store);
  if (!used) co_return fail(std::move(used).error());
  CLOCHE_CO_TRY(session::Runs* const runs, co_await session::Runs::of(*used));
  CLOCHE_CO_TRY(session::SessionPlace place, runs->admit_terminal());
  std::optional<TerminalHold> hold(TerminalHold{std::move(*used), std::move(place), std::move(*ticket)});
  pool::Lease& lease = hold->use->lease();
  const auto sandbox = lease.shared();
  ExecSpec spec = spec_of(options, rules, *sandbox);
  const Deadline deadline = Deadline::after(terminal_start_timeout);
  auto started = co_await lease.start(std::move(spec), deadline);
  if (!started) co_return fail(std::move(started).error());
  const auto exec = std::move(*started);
  auto accepted = co_await http::accept_websocket(call.exchange);
  if (!accepted) co_return Status{};  // it has been answered
  const auto socket = std::move(*accepted);
  Terminal terminal(*socket, *exec, hold);
  auto served = co_await terminal.serve(call, rules.idle);
  if (!served) log::debug("request {}: terminal: {}", call.exchange.request_id(), served.error().message);
  co_return Status{};
}

}  // namespace

void add_terminal_routes(CallRouter& router, SessionStore& store, auth::Quotas& quotas, TerminalRules rules) {
  router.add("GET", "/sessions/{tenant}/{session}/terminal",
             [&store, &quotas, rules](Call& call) { return serve_terminal(store, quotas, rules, call); });
}

}  // namespace cloche::api
