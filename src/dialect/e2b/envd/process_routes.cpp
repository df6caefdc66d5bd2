// process.Process: programs of a sandbox.
#include <algorithm>

#include "dialect/e2b/connect/request_fields.hpp"
#include "dialect/e2b/envd/processes.hpp"
#include "dialect/e2b/envd/routes.hpp"

namespace cloche::dialect::e2b {

using connect::Code;
using connect::ProtoObject;
using connect::Reply;
using connect::ServerStream;

namespace {

// Of one event.
constexpr std::size_t most_output_bytes = std::size_t{32} * 1024;
constexpr std::size_t most_terminal_bytes = std::size_t{16} * 1024;
// For a program that does not read its input, where the client names no time.
constexpr std::chrono::seconds input_timeout{60};

Deadline input_deadline(Deadline asked) { return asked.is_never() ? Deadline::after(input_timeout) : asked; }

json::value nothing() { return json::object(); }

Task<Status> send_output(ServerStream& stream, const ProcessInfo& info, const Output& output) {
  const std::string_view kind = info.has_terminal ? "pty" : output.stream == Stream::err ? "stderr" : "stdout";
  const std::size_t most = info.has_terminal ? most_terminal_bytes : most_output_bytes;
  for (std::string_view rest = output.bytes; !rest.empty(); rest.remove_prefix(std::min(most, rest.size()))) {
    const json::value event = data_event(kind, rest.substr(0, most));
    CLOCHE_CO_CHECK(co_await stream.send(event));
  }
  co_return Status{};
}

// All that the program prints, and how it ends. `limit` ends the stream, not the program.
Task<Reply<>> send_events(const DataCall& call, ServerStream& stream, Follower& follower, Deadline limit) {
  const auto keepalive = connect::keepalive_interval(call.exchange.fields());
  const ProcessInfo& info = follower.program().info();
  const json::value start = start_event(info.pid);
  CLOCHE_CO_CHECK(co_await stream.send(start));
  for (;;) {
    Follower::Next next = co_await follower.next(Deadline::after(keepalive).sooner(limit));
    if (const auto* output = std::get_if<Output>(&next)) {
      CLOCHE_CO_CHECK(co_await send_output(stream, info, *output));
    } else if (auto* ended = std::get_if<Result<Outcome>>(&next)) {
      if (!*ended) {
        stream.cut();
        co_return Reply<>{};
      }
      if ((*ended)->ending == Ending::wall_limit)
        co_return connect::failure(Code::deadline_exceeded, "context deadline exceeded");
      const json::value end = end_event(**ended);
      CLOCHE_CO_CHECK(co_await stream.send(end));
      co_return Reply<>{};
    } else if (limit.passed()) {
      co_return connect::failure(Code::deadline_exceeded, "context deadline exceeded");
    } else {
      const json::value alive = keepalive_event();
      CLOCHE_CO_CHECK(co_await stream.send(alive));
    }
  }
}

// Zero is no limit.
Reply<std::optional<std::chrono::milliseconds>> limit_of(const DataCall& call) {
  CLOCHE_TRY(auto timeout, connect::timeout_of(call.exchange.fields()));
  if (timeout && timeout->count() == 0) timeout.reset();
  return timeout;
}

Task<Reply<>> start_process(DataCall& call, const ProtoObject& message, ServerStream& stream) {
  ProgramStart wanted;
  CLOCHE_CO_TRY(wanted.request, read_start(message));
  CLOCHE_CO_TRY(wanted.user, user_of(call));
  CLOCHE_CO_TRY(wanted.wall_limit, limit_of(call));
  CLOCHE_CO_TRY(const session::Admission admission, call.use->admit_stream());
  CLOCHE_CO_TRY(Processes* const processes, co_await Processes::of(call.use));
  CLOCHE_CO_TRY(const std::unique_ptr<Follower> follower, co_await processes->start(call.use, std::move(wanted)));
  co_return co_await send_events(call, stream, *follower, Deadline::never());
}

Task<Reply<>> follow_process(DataCall& call, const ProtoObject& message, ServerStream& stream) {
  CLOCHE_CO_TRY(const ProcessSelector selector, read_selector(message));
  CLOCHE_CO_TRY(const auto timeout, limit_of(call));
  const Deadline limit = timeout ? Deadline::after(*timeout) : Deadline::never();
  CLOCHE_CO_TRY(const session::Admission admission, call.use->admit_stream());
  CLOCHE_CO_TRY(Processes* const processes, co_await Processes::of(call.use));
  CLOCHE_CO_TRY(auto program, processes->find(selector));
  Follower follower(std::move(program));
  co_return co_await send_events(call, stream, follower, limit);
}

Task<Reply<json::value>> list_processes(DataCall& call, const ProtoObject&, Deadline) {
  CLOCHE_CO_TRY(Processes* const processes, co_await Processes::of(call.use));
  json::object reply;
  const auto running = processes->running();
  if (!running.empty()) {
    json::array& all = reply["processes"].emplace_array();
    for (const auto& program : running) all.emplace_back(to_json(program->info()));
  }
  co_return json::value(std::move(reply));
}

Task<Reply<std::shared_ptr<Program>>> selected(DataCall& call, const ProtoObject& message) {
  CLOCHE_CO_TRY(const ProcessSelector selector, read_selector(message));
  CLOCHE_CO_TRY(Processes* const processes, co_await Processes::of(call.use));
  co_return processes->find(selector);
}

Task<Reply<json::value>> send_input(DataCall& call, const ProtoObject& message, Deadline deadline) {
  CLOCHE_CO_TRY(ProcessInput input, read_input(message));
  CLOCHE_CO_TRY(const auto program, co_await selected(call, message));
  CLOCHE_CO_CHECK(co_await program->write(std::move(input), input_deadline(deadline)));
  co_return nothing();
}

Task<Reply<json::value>> close_stdin(DataCall& call, const ProtoObject& message, Deadline) {
  CLOCHE_CO_TRY(const auto program, co_await selected(call, message));
  CLOCHE_CO_CHECK(program->close_stdin());
  co_return nothing();
}

Task<Reply<json::value>> send_signal(DataCall& call, const ProtoObject& message, Deadline) {
  CLOCHE_CO_TRY(const int number, read_signal(message));
  CLOCHE_CO_TRY(const auto program, co_await selected(call, message));
  CLOCHE_CO_CHECK(program->signal(number));
  co_return nothing();
}

Task<Reply<json::value>> update_process(DataCall& call, const ProtoObject& message, Deadline) {
  CLOCHE_CO_TRY(const auto program, co_await selected(call, message));
  CLOCHE_CO_TRY(const bool has_size, message.has("pty"));
  if (has_size) {
    CLOCHE_CO_TRY(const TerminalSize size, read_size(message));
    CLOCHE_CO_CHECK(program->resize(size));
  }
  co_return nothing();
}

// Messages of StreamInput: `start` names the process, `data` has input for it, `keepalive` nothing.
class InputStream {
 public:
  explicit InputStream(DataCall& call) : call_(call) {}

  Task<Reply<>> take(const ProtoObject& message) {
    CLOCHE_CO_TRY(const auto first, message.message("start"));
    if (first) {
      CLOCHE_CO_TRY(program_, co_await selected(call_, *first));
      co_return Reply<>{};
    }
    CLOCHE_CO_TRY(const auto data, message.message("data"));
    if (!data) co_return Reply<>{};
    if (!program_) co_return connect::failure(Code::failed_precondition, "the first message must be start");
    CLOCHE_CO_TRY(ProcessInput input, read_input(*data));
    co_return co_await program_->write(std::move(input), Deadline::after(input_timeout));
  }

 private:
  DataCall& call_;
  std::shared_ptr<Program> program_;
};

Task<> stream_input(DataCall& call) {
  auto input = std::make_shared<InputStream>(call);
  connect::MessageHandler handler = [input](const ProtoObject& message) { return input->take(message); };
  co_await connect::serve_client_stream(call.exchange, std::move(handler));
}

}  // namespace

void add_process_routes(EnvdRouter& router) {
  add_stream(router, "/process.Process/Start", start_process);
  add_stream(router, "/process.Process/Connect", follow_process);
  add_unary(router, "/process.Process/List", list_processes);
  add_unary(router, "/process.Process/SendInput", send_input);
  add_unary(router, "/process.Process/CloseStdin", close_stdin);
  add_unary(router, "/process.Process/SendSignal", send_signal);
  add_unary(router, "/process.Process/Update", update_process);
  EnvdRoute streamed;
  streamed.serve = stream_input;
  router.add("POST", "/process.Process/StreamInput", std::move(streamed));
}

}  // namespace cloche::dialect::e2b
