#include "dialect/e2b/envd/program.hpp"

#include <algorithm>

namespace cloche::dialect::e2b {

using connect::Code;
using connect::failure;
using connect::Reply;

namespace {

// Of output that a follower has not taken yet.
constexpr std::size_t most_queued = std::size_t{256} * 1024;

}  // namespace

Program::Program(const Executor& executor, ProcessInfo info, ProgramHold hold)
    : info_(std::move(info)), hold_(std::move(hold)), changed_(executor), input_(executor, 1) {}

void Program::set_exec(std::shared_ptr<Exec> exec) {
  exec_ = std::move(exec);
  changed_.notify();
}

Task<> Program::deliver(Output output) {
  const auto is_full = [](const Follower* each) { return each->queued_ >= most_queued; };
  while (std::ranges::any_of(followers_, is_full)) co_await changed_.wait();
  if (followers_.empty()) dropped_.count += output.bytes.size();
  for (Follower* each : followers_) {
    each->queue_.push_back(output);
    each->queued_ += output.bytes.size();
  }
  changed_.notify();
}

void Program::finish(Result<Outcome> how) {
  if (end_) return;
  end_ = std::move(how);
  ended_at_ = Deadline::Clock::now();
  exec_.reset();
  hold_ = {};
  changed_.notify();
}

Reply<std::shared_ptr<Exec>> Program::process() const {
  if (end_) return failure(Code::not_found, "process with pid " + std::to_string(info_.pid) + " not found");
  if (!exec_) return failure(Code::unavailable, "the process is being started");
  return exec_;
}

Task<Reply<>> Program::write(ProcessInput input, Deadline deadline) {
  const bool is_terminal = input.kind == ProcessInput::Kind::terminal_bytes;
  if (is_terminal && !info_.has_terminal)
    co_return failure(Code::internal, "error writing to tty: tty not assigned to process");
  if (!is_terminal && info_.has_terminal)
    co_return failure(Code::internal, "error writing to stdin: tty assigned to process, use pty input instead");
  if (!is_terminal && !info_.has_stdin)
    co_return failure(Code::internal, "error writing to stdin: stdin not enabled or closed");
  const Gate::Pass turn = co_await input_.enter(Urgency::ordinary);
  while (!end_ && !exec_ && !deadline.passed()) co_await changed_.wait(deadline);
  CLOCHE_CO_TRY(const std::shared_ptr<Exec> exec, process());
  CLOCHE_CO_CHECK(co_await exec->write_stdin(std::move(input.bytes), deadline));
  co_return Reply<>{};
}

Reply<> Program::close_stdin() {
  if (info_.has_terminal)
    return failure(Code::internal, "error closing stdin: tty assigned to process, send Ctrl+D instead");
  if (!info_.has_stdin) return failure(Code::internal, "error closing stdin: stdin not enabled or closed");
  CLOCHE_TRY(const std::shared_ptr<Exec> exec, process());
  exec->close_stdin();
  info_.has_stdin = false;
  return {};
}

Reply<> Program::resize(TerminalSize size) {
  if (!info_.has_terminal) return failure(Code::internal, "error resizing tty: tty not assigned to process");
  CLOCHE_TRY(const std::shared_ptr<Exec> exec, process());
  exec->resize(size);
  return {};
}

Reply<> Program::signal(int number) {
  CLOCHE_TRY(const std::shared_ptr<Exec> exec, process());
  // The agent ends the rest of its tree when it has gone.
  exec->signal(number, wire::SignalTarget::program);
  return {};
}

Follower::Follower(std::shared_ptr<Program> program) : program_(std::move(program)) {
  program_->followers_.push_back(this);
}

Follower::~Follower() {
  program_->followers_.remove(this);
  program_->changed_.notify();
}

Task<Follower::Next> Follower::next(Deadline deadline) {
  for (;;) {
    if (!queue_.empty()) {
      Output output = std::move(queue_.front());
      queue_.pop_front();
      queued_ -= output.bytes.size();
      program_->changed_.notify();
      co_return Next(std::move(output));
    }
    if (program_->end_) co_return Next(*program_->end_);
    if (deadline.passed()) co_return Next(Quiet{});
    co_await program_->changed_.wait(deadline);
  }
}

}  // namespace cloche::dialect::e2b
