#include "session/runs/run.hpp"

#include <csignal>

namespace cloche::session {

namespace {

constexpr std::string_view unread = "the run was cancelled because no client was reading it";

}  // namespace

Run::Run(const Executor& executor, std::string id, RunInfo info, auth::QuotaTicket ticket)
    : id_(std::move(id)), info_(std::move(info)), ticket_(std::move(ticket)), changed_(executor), steered_(executor) {}

void Run::stop(std::string why) {
  if (!running()) return;
  if (info_.background_id != 0) {
    killed_ = true;
    if (exec_ != nullptr) exec_->signal(SIGKILL, wire::SignalTarget::tree);
    return;
  }
  if (!called_off_) called_off_ = Error{ErrorCode::cancelled, std::move(why)};
  steered_.notify();
}

Status Run::signal(int number) {
  if (!running()) return fail(ErrorCode::invalid_argument, "the run has ended");
  if (number < 1 || number > 64) return fail(ErrorCode::invalid_argument, "no such signal");
  if (exec_ == nullptr) return fail(ErrorCode::unavailable, "the run has no process to send a signal to at the moment");
  exec_->signal(number);
  return {};
}

Task<bool> Run::wait(Deadline deadline) {
  while (running() && !is_paused_ && !deadline.passed()) co_await changed_.wait(deadline);
  co_return !running();
}

void Run::set_paused(bool paused) {
  is_paused_ = paused;
  // Readers that went because of the pause have as long as ever to come back.
  unread_since_ = Deadline::Clock::now();
  changed_.notify();
  steered_.notify();
}

void Run::set_exec(Exec* exec) {
  exec_ = exec;
  if (exec_ != nullptr && killed_) exec_->signal(SIGKILL, wire::SignalTarget::tree);
}

void Run::add(const Output& output) {
  log_.add(output);
  changed_.notify();
}

void Run::finish(RunEnd how) {
  if (!running()) return;
  ended_ = std::chrono::system_clock::now();
  exec_ = nullptr;
  ticket_.give_back();
  log_.end(std::move(how));
  changed_.notify();
}

Task<> Run::until_called_off(Deadline::Clock::duration unread_timeout) {
  for (;;) {
    if (called_off_) co_return;
    if (info_.unattended == Unattended::goes_on || readers_ > 0 || is_paused_) {
      co_await steered_.wait();
      continue;
    }
    const Deadline by = Deadline::at(unread_since_ + unread_timeout);
    if (by.passed()) {
      called_off_ = Error{ErrorCode::cancelled, std::string(unread)};
    } else {
      co_await steered_.wait(by);
    }
  }
}

Result<RunReader> RunReader::at(std::shared_ptr<Run> run, std::uint64_t position) {
  if (!run->log_.reaches(position)) return fail(ErrorCode::invalid_argument, "the run has no such event");
  return RunReader(std::move(run), position);
}

RunReader::RunReader(std::shared_ptr<Run> run, std::uint64_t position) : run_(std::move(run)), position_(position) {
  ++run_->readers_;
  run_->steered_.notify();
}

RunReader::~RunReader() {
  if (!run_) return;
  --run_->readers_;
  run_->unread_since_ = Deadline::Clock::now();
  run_->steered_.notify();
}

Task<std::optional<RunEvent>> RunReader::next() {
  for (;;) {
    auto event = run_->log_.next(position_);
    if (event) {
      position_ = event->position;
      co_return event;
    }
    if (run_->log_.is_end(position_) || run_->is_paused()) co_return std::nullopt;
    co_await run_->changed_.wait();
  }
}

}  // namespace cloche::session
