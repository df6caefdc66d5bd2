// AgentLink: the server's end of the channel: many streams over one byte stream, each within its credit.
//
// All that comes from the agent is untrusted: sizes are bounded, credit is enforced, and an agent that breaks the
// protocol is cut off. When the link is lost, every stream ends with the same error, at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/async/event.hpp"
#include "core/async/task.hpp"
#include "sandbox/backend.hpp"
#include "wire/channel_messages.hpp"
#include "wire/frame.hpp"

namespace cloche {

class AgentLink;
class FrozenTime;

// Events of a stream.
struct StreamData {
  std::uint8_t lane = 0;
  std::string bytes;
};
struct StreamEof {
  std::uint8_t lane = 0;
};
struct StreamMessage {
  std::string bytes;
};
struct StreamClosed {};  // the agent did what was asked; a refusal is an Error
using StreamEvent = std::variant<StreamData, StreamEof, StreamMessage, StreamClosed>;

// One stream. Destroying it before its end cancels it.
class AgentStream {
 public:
  ~AgentStream();

  // The next event, in order. Nothing follows StreamClosed or an error.
  Task<Result<StreamEvent>> next(Deadline deadline);
  // The same if there is one already.
  std::optional<StreamEvent> next_if_ready();
  // The same; nothing if interrupt() was called since the last such call, and no event is there.
  Task<Result<std::optional<StreamEvent>>> next_or_interrupted(Deadline deadline);
  void interrupt();

  // Sends bytes as the agent's credit allows.
  Task<Status> send_data(std::uint8_t lane, std::string bytes, Deadline deadline);
  // The same for bytes that stay where they are until it returns.
  Task<Status> send_view(std::uint8_t lane, std::string_view bytes, Deadline deadline);
  // As much of them as can be sent without a wait; returns how much that is.
  std::size_t send_some(std::uint8_t lane, std::string_view bytes);
  void send_eof(std::uint8_t lane);
  void send_message(std::string_view encoded);
  // Asks the agent to end the work; the stream still ends by its own events.
  void cancel();
  // As if it were destroyed. Steps that are pending end with the error `cancelled`.
  void abandon();

 private:
  friend class AgentLink;
  struct State;
  explicit AgentStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

enum class Greeting {
  fresh,     // the agent was just started by us
  takeover,  // an earlier server spoke with it: find the frames' boundaries again
};

class AgentLink {
 public:
  // Keeps the enclosure alive as long as its channel is in use.
  AgentLink(Executor executor, std::shared_ptr<Enclosure> enclosure);
  ~AgentLink();
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  // Says hello and waits for the answer.
  Task<Result<wire::Ready>> greet(Greeting greeting, std::vector<std::string> keep, Deadline deadline);

  // Opens a stream with a request.
  Result<std::unique_ptr<AgentStream>> open(std::string_view request);

  // The level of file requests that the agent supports; see wire::file_level. 0 until its hello.
  std::uint32_t file_level() const;
  // The same of egress requests; see wire::egress_level.
  std::uint32_t egress_level() const;

  // Round trip to the agent and back.
  Task<Status> ping(Deadline deadline);

  // A frozen agent does not respond: until it is thawed, no deadline of a stream or a ping passes, and all are later by
  // that time afterwards.
  void set_frozen(bool frozen);
  std::shared_ptr<const FrozenTime> frozen_time() const;
  const Executor& executor() const;

  // Why the link is gone; nullopt while it lives.
  std::optional<Error> lost() const;
  // Called once when the link is lost by itself, not by cut_off(), shut_down() or the destructor.
  void on_lost(std::function<void()> tell);
  // Asked when the channel has ended, before anything fails: why, or empty when nothing is known.
  void explain_end_with(std::function<Task<std::string>()> explain);
  // Ends every stream with this error and opens no more.
  void cut_off(Error why);

  // Closes the channel and joins the loops. The sandbox lives on.
  Task<> shut_down();

 private:
  friend class AgentStream;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cloche
