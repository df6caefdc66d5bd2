// Exec: one running program, seen from the server.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "cloche/output.hpp"
#include "core/async/task.hpp"
#include "sandbox/agent_link.hpp"
#include "sandbox/exec_spec.hpp"
#include "sandbox/files.hpp"
#include "sandbox/memory_guard.hpp"

namespace cloche {

// Accounts for kills by memory: each is reported to one exec only.
class OomLedger {
 public:
  explicit OomLedger(std::shared_ptr<Enclosure> enclosure) : enclosure_(std::move(enclosure)) {}

  // Whether the way a program ended can be a kill for memory at all.
  enum class Suspicion { none, killed };

  struct Claim {
    std::uint64_t kills = 0;           // not reported to any exec yet
    std::optional<Bytes> memory_peak;  // of the whole sandbox, where the backend was asked and knows it
  };
  // `counted` is the agent's own count, where it has one; where it has none and asking the backend is expensive, that
  // is done on suspicion only.
  Task<Claim> claim(std::optional<std::uint64_t> counted, Suspicion suspicion);

  // Why a sandbox whose agent has ended did so: memory or processes; empty when the kernel counted neither.
  Task<std::string> cause_of_end();

 private:
  std::shared_ptr<Enclosure> enclosure_;
  std::uint64_t told_ = 0;
};

// Called with each piece of output as it comes.
using OutputSink = std::function<void(Output)>;

// Destroying it before its end stops the program (a background one keeps running).
class Exec {
 public:
  // The next piece of output, or the outcome, after which there is nothing more. An Error means that Cloche could not
  // do its work; a sandbox that died because its memory was used up is an outcome.
  Task<Result<std::variant<Output, Outcome>>> next(Deadline deadline = Deadline::never());

  // Passes all output to the sink, up to the end.
  Task<Result<Outcome>> read(OutputSink sink, Deadline deadline = Deadline::never());
  // All output up to the end. What the program may print is bounded by its spec.
  using Collected = RunResult;
  Task<Result<Collected>> collect(Deadline deadline = Deadline::never());

  Task<Status> write_stdin(std::string bytes, Deadline deadline = Deadline::never());
  void close_stdin();
  void signal(int number, wire::SignalTarget target = wire::SignalTarget::group);
  void resize(TerminalSize size);
  // Ends the program's whole tree; the outcome says `cancelled`.
  void stop();

  // The id in the sandbox; 0 until it has started.
  std::uint32_t pid() const { return pid_; }
  std::uint64_t background_id() const { return background_id_; }

  // How much of each output may come at most; more than was asked for is an agent that lies. 0: no cap.
  struct Caps {
    std::uint64_t output = 0;  // of stdout and of stderr
    std::uint64_t events = 0;
    ChangeCaps changes;
  };
  Exec(std::unique_ptr<AgentStream> stream, std::shared_ptr<OomLedger> ledger, Caps caps);

  // Lets the guard kill the program when the sandbox runs out of memory.
  void guard_with(MemoryGuard& guard);

  // Where it was started with a look, and has ended: since when, and what was found if that was quick.
  struct Seen {
    std::int64_t since_ns = 0;
    std::optional<EntryList> changes;
  };
  const std::optional<Seen>& seen() const { return seen_; }

  // Waits until the program has started, and so has a pid, or could not be. For background execs.
  Task<Status> wait_started(Deadline deadline);

 private:
  Task<Result<std::variant<Output, Outcome>>> on_lost(Error error);
  Status count(std::uint8_t lane, std::size_t bytes);
  Status see(wire::ExecEnded& ended);

  std::unique_ptr<AgentStream> stream_;
  std::shared_ptr<OomLedger> ledger_;
  Caps caps_;
  std::array<std::uint64_t, wire::lane::count> received_{};
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::uint32_t pid_ = 0;
  std::uint64_t background_id_ = 0;
  bool is_out_of_memory_ = false;  // it was killed by the guard
  MemoryGuard::Place guarded_;
  std::optional<Outcome> outcome_;
  std::optional<Seen> seen_;
};

}  // namespace cloche
