// ResumableChannel: a channel over connections that may be cut at any byte, such as streams through a provider's
// proxies.
//
// In the sandbox, `cloche-agent relay` keeps the agent and `cloche-agent dial` is one connection to it. Both ends count
// bytes and keep what is not acknowledged (src/relay). After a cut the channel dials again, and both continue where
// they were. The link above does not notice.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "core/async/task.hpp"
#include "sandbox/channel.hpp"

namespace cloche {

// Opens one connection to the relay of a sandbox: the stdio of one `cloche-agent dial`. It returns by the deadline.
// `sandbox_lost`: the sandbox is gone for good; any other error is tried again. It may be cancelled. It keeps alive
// what it uses: it can outlive the channel's close() until its next suspension ends, and shut_down() waits for that.
using Dial = std::function<Task<Result<std::unique_ptr<Channel>>>(Deadline)>;

struct ResumeOptions {
  // How long to try before the sandbox counts as lost: since the last connection that carried anything.
  std::chrono::milliseconds patience{60'000};
  // Before the second dial in a row, then twice as long each time. The first one does not wait.
  std::chrono::milliseconds first_delay{100};
  std::chrono::milliseconds longest_delay{5'000};
  // A connection that lived so long was a good one: the next dial is a first one.
  std::chrono::milliseconds steady{5'000};
  // For one dial and its handshake.
  std::chrono::milliseconds dial_timeout{20'000};
  // Consumed bytes are acknowledged after this time, or sooner if they are many.
  std::chrono::milliseconds ack_delay{200};
  // On an idle connection both sides say something that often. One that is silent for `silence` is cut.
  std::chrono::milliseconds heartbeat{10'000};
  std::chrono::milliseconds silence{35'000};
};

// Each object is a new conversation: what an earlier server did not take from the relay is dropped, and the link above
// resynchronises (Greeting::takeover).
//
// Errors are final: `sandbox_lost` when patience is over, the Dial says so, the relay cannot continue, or another
// server has taken the sandbox over; `protocol` when the relay violates the protocol. read_some() returns 0 when the
// agent has ended. Memory is bounded by the relay's window in each direction; write_all() waits while it is full.
class ResumableChannel final : public Channel {
 public:
  // Nothing is dialled before the first read or write. `sandbox` is for messages.
  ResumableChannel(Executor executor, Dial dial, std::string sandbox, ResumeOptions options = {});
  ResumableChannel(const ResumableChannel&) = delete;
  ResumableChannel& operator=(const ResumableChannel&) = delete;
  ~ResumableChannel() override;

  Task<Result<std::size_t>> read_some(std::span<char> into) override;
  Task<Status> write_all(std::string_view bytes) override;
  void close() override;

  // Closes it and waits until its tasks have ended, a Dial included. Not cancellable.
  Task<> shut_down();

  // The agent has ended, or the channel has failed or is closed.
  bool has_ended() const;

  // A frozen sandbox does not respond: nothing is dialled, no silence is noticed and no patience is lost until it is
  // thawed.
  void set_frozen(bool frozen);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cloche
