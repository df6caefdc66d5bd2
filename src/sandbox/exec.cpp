#include "sandbox/exec.hpp"

#include <csignal>

#include "sandbox/classify.hpp"

namespace cloche {

Task<OomLedger::Claim> OomLedger::claim(std::optional<std::uint64_t> counted, Suspicion suspicion) {
  Claim claim;
  std::uint64_t now = told_;
  if (counted) {
    now = *counted;
  } else if (suspicion == Suspicion::killed || enclosure_->has_cheap_evidence()) {
    auto evidence = co_await enclosure_->evidence();
    if (evidence) {
      now = evidence->oom_kills;
      claim.memory_peak = evidence->memory_peak;
    }
  }
  claim.kills = now > told_ ? now - told_ : 0;
  told_ = std::max(told_, now);
  co_return claim;
}

Task<std::string> OomLedger::cause_of_end() {
  const std::uint64_t told = told_;
  const auto evidence = co_await enclosure_->evidence();
  if (evidence && evidence->oom_kills > told) co_return "it reached its memory limit";
  // Elsewhere a program cannot create a process, and the agent continues.
  const bool is_gvisor = enclosure_->kernel() == Kernel::own;
  if (is_gvisor && evidence && evidence->refused_forks > 0) {
    co_return "its processes needed more host threads than gVisor may have; run fewer at once";
  }
  co_return std::string();
}

namespace {

OomLedger::Suspicion suspicion_of(const wire::ExecEnded& ended) {
  const bool killed =
      ended.end == wire::EndKind::signalled ? ended.signal == SIGKILL : ended.exit_code == 128 + SIGKILL;
  return killed && ended.stopped == wire::StopReason::none ? OomLedger::Suspicion::killed : OomLedger::Suspicion::none;
}

std::optional<Stream> stream_of(std::uint8_t lane) {
  switch (lane) {
    case wire::lane::out: return Stream::out;
    case wire::lane::err: return Stream::err;
    case wire::lane::event: return Stream::event;
    default: return std::nullopt;
  }
}

}  // namespace

Exec::Exec(std::unique_ptr<AgentStream> stream, std::shared_ptr<OomLedger> ledger, Caps caps)
    : stream_(std::move(stream)), ledger_(std::move(ledger)), caps_(caps) {}

void Exec::guard_with(MemoryGuard& guard) {
  guarded_ = guard.watch([this] {
    is_out_of_memory_ = true;
    // One call of the sandbox's kernel that stops all of a fork bomb: its processes take no more memory, and no more of
    // the processors that the supervisor needs to find and kill them one by one.
    signal(SIGSTOP, wire::SignalTarget::group);
    signal(SIGKILL, wire::SignalTarget::program);  // its supervisor then ends the rest
  });
}

Status Exec::count(std::uint8_t lane, std::size_t bytes) {
  const std::uint64_t cap = lane == wire::lane::event ? caps_.events : caps_.output;
  received_[lane] += bytes;
  if (cap == 0 || received_[lane] <= cap) return {};
  stream_->cancel();
  return fail(ErrorCode::protocol, "the sandbox's agent sent more output than requested");
}

Task<Result<std::variant<Output, Outcome>>> Exec::next(Deadline deadline) {
  using Piece = std::variant<Output, Outcome>;
  for (;;) {
    if (outcome_) co_return Piece(*outcome_);
    auto event = co_await stream_->next(deadline);
    if (!event) {
      if (event.error().code != ErrorCode::sandbox_lost) co_return fail(std::move(event).error());
      co_return co_await on_lost(std::move(event).error());
    }
    if (auto* data = std::get_if<StreamData>(&*event)) {
      CLOCHE_CO_CHECK(count(data->lane, data->bytes.size()));
      const auto stream = stream_of(data->lane);
      if (!stream) co_return fail(ErrorCode::protocol, "the sandbox's agent sent data on the input lane");
      co_return Piece(Output{*stream, std::move(data->bytes)});
    }
    if (auto* message = std::get_if<StreamMessage>(&*event)) {
      if (const auto started = wire::decode<wire::ExecStarted>(message->bytes)) {
        pid_ = started->pid;
        background_id_ = started->exec_id;
        continue;
      }
      auto ended = wire::decode<wire::ExecEnded>(message->bytes);
      if (!ended) co_return fail(ErrorCode::protocol, "the sandbox's agent sent an unknown message about a program");
      CLOCHE_CO_CHECK(see(*ended));
      const OomLedger::Claim claim = co_await ledger_->claim(ended->oom_kills, suspicion_of(*ended));
      guarded_.leave();
      outcome_ = classify(*ended, claim.kills + (is_out_of_memory_ ? 1 : 0));
      continue;
    }
    if (std::holds_alternative<StreamClosed>(*event)) {
      co_return fail(ErrorCode::protocol, "the sandbox's agent did not report how the program ended");
    }
  }
}

Status Exec::see(wire::ExecEnded& ended) {
  if (ended.mark_ns == 0) return {};
  seen_ = Seen{ended.mark_ns, {}};
  if (!ended.changes) return {};
  CLOCHE_TRY(seen_->changes, parse_changes(std::move(*ended.changes), caps_.changes));
  return {};
}

Task<Result<std::variant<Output, Outcome>>> Exec::on_lost(Error error) {
  const OomLedger::Claim claim = co_await ledger_->claim(std::nullopt, OomLedger::Suspicion::killed);
  if (claim.kills == 0) co_return fail(std::move(error));
  const auto wall = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started_);
  outcome_ = killed_with_sandbox(wall, claim.kills, claim.memory_peak);
  co_return std::variant<Output, Outcome>(*outcome_);
}

Task<Result<Outcome>> Exec::read(OutputSink sink, Deadline deadline) {
  for (;;) {
    auto piece = co_await next(deadline);
    if (!piece) co_return fail(std::move(piece).error());
    if (auto* outcome = std::get_if<Outcome>(&*piece)) co_return std::move(*outcome);
    sink(std::get<Output>(std::move(*piece)));
  }
}

Task<Result<Exec::Collected>> Exec::collect(Deadline deadline) {
  Collected collected;
  OutputSink sink = [&collected](const Output& piece) { collected.add(piece); };
  auto outcome = co_await read(std::move(sink), deadline);
  if (!outcome) co_return fail(std::move(outcome).error());
  collected.outcome = std::move(*outcome);
  co_return collected;
}

Task<Status> Exec::write_stdin(std::string bytes, Deadline deadline) {
  auto sent = co_await stream_->send_data(wire::lane::in, std::move(bytes), deadline);
  co_return sent;
}

void Exec::close_stdin() { stream_->send_eof(wire::lane::in); }

void Exec::signal(int number, wire::SignalTarget target) {
  stream_->send_message(wire::encode(wire::ExecSignal{static_cast<std::uint32_t>(number), target}));
}

void Exec::resize(TerminalSize size) {
  stream_->send_message(wire::encode(wire::ExecResize{{size.rows, size.columns}}));
}

void Exec::stop() { stream_->cancel(); }

Task<Status> Exec::wait_started(Deadline deadline) {
  while (background_id_ == 0) {
    auto event = co_await stream_->next(deadline);
    if (!event) co_return fail(std::move(event).error());
    const auto* message = std::get_if<StreamMessage>(&*event);
    if (message == nullptr)
      co_return fail(ErrorCode::protocol, "the sandbox's agent did not report the start of the program");
    CLOCHE_CO_TRY(const auto started, wire::decode<wire::ExecStarted>(message->bytes));
    pid_ = started.pid;
    background_id_ = started.exec_id;
  }
  co_return Status{};
}

}  // namespace cloche
