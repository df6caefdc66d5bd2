#include "dialect/e2b/interpreter/execution.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "core/async/guarded.hpp"
#include "core/fault_point.hpp"
#include "core/utf8.hpp"
#include "dialect/e2b/interpreter/lines.hpp"
#include "dialect/e2b/sandbox_environment.hpp"
#include "http/server/off_loop.hpp"

namespace cloche::dialect::e2b {

namespace {

constexpr std::chrono::seconds keepalive_interval{5};
// Clients have a limit of their own. What they abandon is interrupted.
constexpr std::chrono::hours longest_execution{24};
constexpr Bytes most_output = mib(64);
// The queue is charged to the tenant in steps of this size.
constexpr std::uint64_t hold_step = 256 * 1024;

CellError error_of(const session::ContextResult& result) {
  if (result.error) return *result.error;
  const bool memory = result.outcome.ending == Ending::memory_limit;
  return {memory ? "MemoryError" : "UnexpectedEndOfExecution", result.reason, ""};
}

}  // namespace

Execution::Execution(DataCall& call, const Kernel& kernel, ExecuteBody body)
    : call_(call),
      id_(kernel.id),
      language_(kernel.language),
      count_(kernel.executions),
      body_(std::move(body)),
      changed_(call.use->executor()) {}

Task<Status> Execution::serve() {
  http::Fields fields;
  fields.emplace_back("Content-Type", "application/x-ndjson");
  auto begun = co_await call_.exchange.begin(200, std::move(fields));
  if (!begun) co_return begun;
  auto counted = co_await call_.exchange.write(execution_count_line(count_));
  if (!counted) co_return counted;
  using asio::experimental::awaitable_operators::operator&&;
  const Status written = co_await (run_to_its_end() && write());
  if (lost_) {
    call_.exchange.break_off();
    co_return Status{};
  }
  if (!written) co_return written;
  co_return co_await call_.exchange.end();
}

void Execution::put(Piece piece) {
  if (is_full_) return;
  queued_ += piece.bytes.size();
  while (queued_ > held_) {
    if (auto held = call_.exchange.hold(Bytes{hold_step}); !held) {
      is_full_ = true;
      full_ = std::move(held).error();
      break;
    }
    held_ += hold_step;
  }
  queue_.push_back(std::move(piece));
  changed_.notify();
}

// Whatever happens, the answer comes to an end.
Task<> Execution::run_to_its_end() {
  auto work = [this] { return run(); };
  auto ran = co_await guarded("code of a sandbox", std::move(work));
  // A sandbox that ends closes its contexts first: the code did not end by itself.
  lost_ = call_.use->state() != session::SessionState::live;
  if (!ran) {
    lost_ = lost_ || ran.error().code == ErrorCode::sandbox_lost || ran.error().code == ErrorCode::paused;
    const bool ours = ran.error().code == ErrorCode::internal;
    last_lines_ = error_line({"ExecutionAborted", ours ? "internal error" : ran.error().message, ""});
  }
  last_lines_ += end_line();
  done_ = true;
  changed_.notify();
}

Task<Status> Execution::run() {
  CLOCHE_CO_CHECK(fallible_point<"e2b.execute">());
  session::ContextCall call;
  call.context = id_;
  call.language = session::to_string(language_);
  call.code = std::move(body_.code);
  call.env = std::move(body_.env_vars);
  call.env.merge(sandbox_environment(*call_.use));
  call.timeout = longest_execution;
  call.keep_output = most_output;
  call.finds_artifacts = false;
  call.display = [this](std::string described) { put({Piece::Kind::display, std::move(described)}); };
  const OutputSink sink = [this](Output output) {
    const auto kind = output.stream == Stream::out ? Piece::Kind::out : Piece::Kind::err;
    put({kind, std::move(output.bytes)});
  };
  auto ran = co_await call_.use->part<session::Contexts>().run(std::move(call), sink, Deadline::never());
  if (!ran) co_return fail(std::move(ran).error());
  report_end(*ran);
  co_return Status{};
}

// The exit code of a shell is not an error of the execution.
void Execution::report_end(const session::ContextResult& result) {
  const bool is_cell = language_ != session::ContextLanguage::bash;
  const bool ran_to_its_end = result.outcome.ending == Ending::exited && result.state != ContextState::lost;
  if (result.error || !ran_to_its_end) {
    last_lines_ = error_line(error_of(result));
  } else if (is_cell && result.outcome.exit_code != 0) {
    last_lines_ = error_line({"SystemExit", std::to_string(result.outcome.exit_code), ""});
  }
}

Task<Status> Execution::write() {
  for (;;) {
    while (!queue_.empty()) {
      Piece piece = std::move(queue_.front());
      queue_.pop_front();
      queued_ -= piece.bytes.size();
      auto sent = co_await send(std::move(piece));
      if (!sent) co_return sent;
    }
    if (done_) break;
    const Deadline silent = Deadline::after(keepalive_interval);
    co_await changed_.wait(silent);
    if (queue_.empty() && !done_ && silent.passed()) {
      auto sent = co_await call_.exchange.write(keepalive_line());
      if (!sent) co_return sent;
    }
  }
  if (lost_) co_return Status{};
  if (is_full_) last_lines_ = error_line({"OutputLimit", full_.message, ""}) + last_lines_;
  co_return co_await call_.exchange.write(last_lines_);
}

Task<Status> Execution::send(Piece piece) {
  switch (piece.kind) {
    case Piece::Kind::out: co_return co_await send_text("stdout", out_tail_, std::move(piece.bytes));
    case Piece::Kind::err: co_return co_await send_text("stderr", err_tail_, std::move(piece.bytes));
    case Piece::Kind::display: break;
  }
  const std::size_t size = piece.bytes.size();
  auto convert = [described = std::move(piece.bytes)]() -> Result<std::string> { return result_line(described); };
  auto line = co_await http::run_off_loop(call_.exchange, size, std::move(convert));
  if (!line) co_return fail(std::move(line).error());
  if (line->empty()) co_return Status{};
  co_return co_await call_.exchange.write(*line);
}

// A character that is not complete yet waits for its rest.
Task<Status> Execution::send_text(std::string_view stream, std::string& pending, std::string bytes) {
  std::string text = std::exchange(pending, {}) + bytes;
  const std::size_t tail = incomplete_tail(text);
  pending = text.substr(text.size() - tail);
  text.resize(text.size() - tail);
  if (text.empty()) co_return Status{};
  co_return co_await call_.exchange.write(output_line(stream, to_utf8(text), std::chrono::system_clock::now()));
}

}  // namespace cloche::dialect::e2b
