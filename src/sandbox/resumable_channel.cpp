#include "sandbox/resumable_channel.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/async/event.hpp"
#include "core/async/exceptions.hpp"
#include "core/async/first_of.hpp"
#include "core/async/guarded.hpp"
#include "core/async/task_group.hpp"
#include "core/fault_point.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "relay/protocol.hpp"
#include "relay/side.hpp"

namespace cloche {

namespace {

using Time = Deadline::Clock::time_point;

// Data in one write.
constexpr std::size_t batch_size = 256 * 1024;
// How long the last ack may take to arrive. A relay that has it ends without waiting for another dial.
constexpr std::chrono::seconds farewell_timeout{1};

relay::Conversation new_conversation() {
  const std::string bytes = random_bytes(std::tuple_size_v<relay::Conversation>);
  relay::Conversation conversation;
  std::ranges::copy(bytes, conversation.begin());
  return conversation;
}

// When to dial, and until when.
class Redials {
 public:
  explicit Redials(const ResumeOptions& options) : options_(options), give_up_(Deadline::after(options.patience)) {}

  // The time that the next dial waits for.
  std::chrono::milliseconds next_delay() {
    const auto delay = delay_;
    delay_ = std::clamp(2 * delay_, options_.first_delay, options_.longest_delay);
    return delay;
  }
  void be_patient() { give_up_ = Deadline::after(options_.patience); }
  void start_over() { delay_ = {}; }
  Deadline give_up() const { return give_up_; }

 private:
  const ResumeOptions& options_;
  std::chrono::milliseconds delay_{};
  Deadline give_up_;
};

}  // namespace

struct ResumableChannel::State : std::enable_shared_from_this<ResumableChannel::State> {
  State(Executor executor, Dial how, std::string name, ResumeOptions o)
      : dial(std::move(how)),
        sandbox(std::move(name)),
        options(o),
        readable(executor),
        writable(executor),
        sendable(executor),
        changed(executor),
        tasks(executor) {}

  Dial dial;
  std::string sandbox;
  ResumeOptions options;

  relay::Conversation conversation = new_conversation();
  std::uint64_t attempt = 0;
  bool has_begun = false;  // the relay has accepted the conversation
  relay::Side side;

  bool is_started = false;
  bool is_closed = false;
  bool is_frozen = false;
  bool is_ending = false;        // the agent has ended; the last ack is under way
  bool is_at_end = false;        // the agent has ended
  std::optional<Error> failure;  // final

  std::shared_ptr<Channel> connection;
  std::string cut_by;          // why the last connection, or dial, came to nothing
  bool had_progress = false;   // of this connection
  Time last_heard{};           // on this connection
  std::optional<Time> ack_at;  // something consumed is not acknowledged

  Event readable;  // bytes have arrived, or the end
  Event writable;  // there is room, or the end
  Event sendable;  // there is something to send, or an ack is due at another time
  Event changed;   // frozen, thawed, over
  TaskGroup tasks;

  bool is_over() const { return is_closed || is_at_end || failure; }
  Error why_over() const {
    if (is_closed) return {ErrorCode::unavailable, "sandbox " + sandbox + ": the channel is closed"};
    if (failure) return *failure;
    return {ErrorCode::sandbox_lost, "sandbox " + sandbox + ": its agent ended"};
  }

  void start();
  void close();
  void fail_with(ErrorCode code, std::string message);
  void fail_by(const std::exception_ptr& thrown);
  void wake_all();

  Task<> run();
  Task<> keep_connected();
  Task<> wait_until_thawed(Redials& redials);
  // A connection with its handshake done; nullptr if there is none, and cut_by says why.
  Task<std::shared_ptr<Channel>> open(Deadline give_up);
  Task<> shake_hands(std::shared_ptr<Channel> with);
  void take_reply(const relay::Handshake& reply);
  void take_refusal(relay::Reason reason);
  bool is_accepted = false;  // the last handshake

  // Until the connection is cut, or all is over.
  Task<> use(std::shared_ptr<Channel> used);
  // Runs one of the loops. However it ends, the connection is closed, which ends the others.
  using Loop = Task<> (State::*)(std::shared_ptr<Channel>);
  Task<> guard_loop(Loop loop, std::shared_ptr<Channel> used);
  Task<> read_loop(std::shared_ptr<Channel> from);
  Status take_frames(relay::Decoder& decoder);
  void take_end(const relay::Frame& end);
  Task<> write_loop(std::shared_ptr<Channel> to);
  Task<> silence_loop(std::shared_ptr<Channel> watched);
  Task<> expire(std::shared_ptr<Channel> watched, Deadline deadline);
};

void ResumableChannel::State::start() {
  if (std::exchange(is_started, true) || is_over()) return;
  // The task keeps the state alive until it ends.
  tasks.spawn("resumable channel", [self = shared_from_this()] { return self->run(); });
}

void ResumableChannel::State::close() {
  if (std::exchange(is_closed, true)) return;
  if (connection) connection->close();
  tasks.cancel();
  wake_all();
}

void ResumableChannel::State::fail_with(ErrorCode code, std::string message) {
  if (is_over()) return;
  failure = Error{code, "sandbox " + sandbox + ": " + std::move(message)};
  wake_all();
}

void ResumableChannel::State::fail_by(const std::exception_ptr& thrown) {
  Error error = to_error("sandbox " + sandbox + ": resumable channel", thrown);
  if (!is_over()) failure = std::move(error);
  wake_all();
}

void ResumableChannel::State::wake_all() {
  readable.notify();
  writable.notify();
  sendable.notify();
  changed.notify();
}

// However it ends, no reader or writer is left waiting.
Task<> ResumableChannel::State::run() {
  std::exception_ptr thrown;
  try {
    co_await keep_connected();
  } catch (...) {
    thrown = std::current_exception();
  }
  if (connection) connection->close();
  connection.reset();
  if (thrown && !is_over()) fail_by(thrown);
}

Task<> ResumableChannel::State::keep_connected() {
  Redials redials(options);
  bool is_failure_logged = false;
  while (!is_over()) {
    co_await wait_until_thawed(redials);
    const auto delay = redials.next_delay();
    if (delay > delay.zero()) co_await changed.wait(Deadline::after(delay).sooner(redials.give_up()));
    if (is_over()) co_return;
    if (is_frozen) continue;
    if (redials.give_up().passed()) {
      fail_with(ErrorCode::sandbox_lost, "no connection to its agent within " +
                                             std::to_string(options.patience.count()) + " ms" +
                                             (cut_by.empty() ? "" : ": " + cut_by));
      co_return;
    }
    const bool was_begun = has_begun;
    const auto opened = co_await open(redials.give_up());
    if (is_over()) co_return;
    if (!opened) {
      // Once, not for each dial.
      if (!std::exchange(is_failure_logged, true)) log::info("sandbox {}: cannot connect: {}", sandbox, cut_by);
      continue;
    }
    is_failure_logged = false;
    if (was_begun) log::info("sandbox {}: connected again, attempt {}", sandbox, attempt);
    const Time since = Deadline::Clock::now();
    co_await use(opened);
    connection.reset();
    // One that ends as soon as it is there is no better than a dial that fails.
    const bool was_steady = Deadline::Clock::now() - since >= options.steady;
    if (was_steady) redials.start_over();
    if (was_steady || had_progress) redials.be_patient();
    if (!is_over()) log::info("sandbox {}: the connection was cut: {}", sandbox, cut_by);
  }
}

Task<> ResumableChannel::State::wait_until_thawed(Redials& redials) {
  if (!is_frozen) co_return;
  while (is_frozen && !is_over()) co_await changed.wait();
  redials.start_over();
  redials.be_patient();
}

Task<std::shared_ptr<Channel>> ResumableChannel::State::open(Deadline give_up) {
  const Deadline deadline = give_up.sooner(Deadline::after(options.dial_timeout));
  std::function<Task<Result<std::unique_ptr<Channel>>>()> start =
      [this, deadline]() -> Task<Result<std::unique_ptr<Channel>>> {
    CLOCHE_CO_CHECK(fallible_point<"channel.dial">(deadline));
    co_return co_await dial(deadline);
  };
  auto dialled = co_await guarded("sandbox " + sandbox + ": dial", std::move(start));
  if (!dialled || !*dialled) {
    cut_by = dialled ? "the dial returned no connection" : dialled.error().message;
    if (!dialled && dialled.error().code == ErrorCode::sandbox_lost) fail_with(ErrorCode::sandbox_lost, cut_by);
    co_return nullptr;
  }
  connection = std::move(*dialled);
  if (is_over()) co_return nullptr;
  is_accepted = false;
  co_await first_of(shake_hands(connection), expire(connection, deadline));
  if (!is_accepted) {
    connection->close();
    connection.reset();
    co_return nullptr;
  }
  co_return connection;
}

// Exactly the bytes of the handshake are read: frames follow.
Task<> ResumableChannel::State::shake_hands(std::shared_ptr<Channel> with) {
  const relay::Handshake hello{.kind = has_begun ? relay::HandshakeKind::resume : relay::HandshakeKind::begin,
                               .conversation = conversation,
                               .attempt = ++attempt,
                               .consumed = side.start_connection()};
  ack_at.reset();
  const std::string request = relay::encode(hello);
  auto written = co_await with->write_all(request);
  if (!written) {
    cut_by = written.error().message;
    co_return;
  }
  std::array<char, relay::handshake_size> reply;
  for (std::size_t have = 0; have < reply.size();) {
    const std::span<char> missing = std::span(reply).subspan(have);
    auto count = co_await with->read_some(missing);
    if (!count || *count == 0) {
      cut_by = count ? "the connection was closed before its handshake was complete" : count.error().message;
      co_return;
    }
    have += *count;
  }
  auto decoded = relay::decode_handshake(reply);
  if (!decoded) {
    fail_with(ErrorCode::protocol, decoded.error().message);
  } else {
    take_reply(*decoded);
  }
}

void ResumableChannel::State::take_reply(const relay::Handshake& reply) {
  // A `dial` that finds no relay knows nothing of the conversation.
  if (reply.kind == relay::HandshakeKind::refused && reply.reason == relay::Reason::no_relay) {
    return take_refusal(reply.reason);
  }
  if (reply.conversation != conversation || reply.attempt != attempt) {
    return fail_with(ErrorCode::protocol, "the relay responded to another handshake");
  }
  if (reply.kind == relay::HandshakeKind::refused) return take_refusal(reply.reason);
  if (reply.kind != relay::HandshakeKind::accepted) {
    return fail_with(ErrorCode::protocol, "the relay sent a handshake that only a server may send");
  }
  if (auto continued = side.continue_at(reply.consumed); !continued) {
    return fail_with(ErrorCode::protocol, "relay: " + continued.error().message);
  }
  has_begun = true;
  is_accepted = true;
}

void ResumableChannel::State::take_refusal(relay::Reason reason) {
  switch (reason) {
    case relay::Reason::no_relay:
    case relay::Reason::agent_ended:
      is_at_end = true;
      wake_all();
      return;
    case relay::Reason::stale: cut_by = "the relay has accepted a later connection"; return;
    case relay::Reason::replaced:
    case relay::Reason::unknown: return fail_with(ErrorCode::sandbox_lost, "another server has taken it over");
    case relay::Reason::out_of_range:
      return fail_with(ErrorCode::sandbox_lost, "its relay no longer has the bytes that follow");
    case relay::Reason::none: break;
  }
  fail_with(ErrorCode::protocol, "the relay refused the connection without a reason");
}

// Closing the connection ends what waits on it, also where it ignores a cancellation.
Task<> ResumableChannel::State::expire(std::shared_ptr<Channel> watched, Deadline deadline) {
  while (!is_over() && !deadline.passed()) co_await changed.wait(deadline);
  cut_by = "the relay did not respond in time";
  watched->close();
}

Task<> ResumableChannel::State::use(std::shared_ptr<Channel> used) {
  had_progress = false;
  last_heard = Deadline::Clock::now();
  sendable.notify();
  co_await first_of(guard_loop(&State::read_loop, used), guard_loop(&State::write_loop, used),
                    guard_loop(&State::silence_loop, used));
  // Only now: a reader that finds the end may close the channel, and the relay would wait for the last ack.
  if (is_ending && !is_over()) {
    is_at_end = true;
    wake_all();
  }
}

Task<> ResumableChannel::State::guard_loop(Loop loop, std::shared_ptr<Channel> used) {
  std::exception_ptr thrown;
  try {
    co_await (this->*loop)(used);
  } catch (...) {
    thrown = std::current_exception();
  }
  const bool is_cancelled = thrown && is_cancellation(thrown);
  if (thrown && !is_cancelled) fail_by(thrown);
  used->close();
  if (is_cancelled) std::rethrow_exception(thrown);
}

Task<> ResumableChannel::State::read_loop(std::shared_ptr<Channel> from) {
  relay::Decoder decoder;
  while (!is_over() && !is_ending) {
    const std::span<char> room = decoder.room();
    auto count = co_await from->read_some(room);
    fault_point<"channel.read">();
    if (!count || *count == 0) {
      cut_by = count ? "the connection was closed" : count.error().message;
      co_return;
    }
    last_heard = Deadline::Clock::now();
    decoder.fed(*count);
    if (auto taken = take_frames(decoder); !taken) {
      log::warn("sandbox {}: its relay violated the protocol: {}", sandbox, taken.error().message);
      fail_with(ErrorCode::protocol, "its relay violated the protocol: " + taken.error().message);
    }
    readable.notify();
    writable.notify();
  }
  // The other loop sends the last ack. The relay has it when it closes the connection, and then ends.
  if (is_over()) co_return;
  std::array<char, 1> nothing;
  (void)co_await from->read_some(nothing);
}

Status ResumableChannel::State::take_frames(relay::Decoder& decoder) {
  for (;;) {
    CLOCHE_TRY(const auto frame, decoder.next());
    if (!frame) return {};
    if (frame->type == relay::FrameType::end) {
      take_end(*frame);
      continue;
    }
    const std::size_t room_before = side.room();
    CLOCHE_CHECK(side.take(*frame));
    had_progress = had_progress || frame->type == relay::FrameType::data || side.room() != room_before;
  }
}

void ResumableChannel::State::take_end(const relay::Frame& end) {
  if (end.reason == relay::Reason::agent_ended) {
    if (!is_over()) log::info("sandbox {}: its agent ended, wait status {}", sandbox, end.agent_status);
    is_ending = true;
    sendable.notify();
    return;
  }
  take_refusal(end.reason);
  if (!is_over()) fail_with(ErrorCode::protocol, "the relay ended the conversation without a reason");
}

Task<> ResumableChannel::State::write_loop(std::shared_ptr<Channel> to) {
  Time heartbeat_at = Deadline::Clock::now() + options.heartbeat;
  while (!is_over() && !is_ending) {
    std::string batch;
    const Time now = Deadline::Clock::now();
    const bool is_ack_due = ack_at && now >= *ack_at;
    if (side.unannounced() >= relay::ack_bytes || is_ack_due || now >= heartbeat_at) {
      side.append_ack_to(batch);
      ack_at.reset();
    }
    side.append_data_to(batch, batch_size);
    if (batch.empty()) {
      co_await sendable.wait(Deadline::at(std::min(heartbeat_at, ack_at.value_or(heartbeat_at))));
      continue;
    }
    heartbeat_at = now + options.heartbeat;
    fault_point<"channel.write">();
    auto written = co_await to->write_all(batch);
    if (!written) {
      cut_by = written.error().message;
      co_return;
    }
  }
  if (is_over()) co_return;
  std::string farewell;
  side.append_last_ack_to(farewell);
  auto written = co_await to->write_all(farewell);
  if (written) co_await pause_for(farewell_timeout);
}

Task<> ResumableChannel::State::silence_loop(std::shared_ptr<Channel> /*watched*/) {
  for (;;) {
    const Deadline due = Deadline::at(last_heard + options.silence);
    if (due.passed() && !is_frozen) break;
    co_await changed.wait(is_frozen ? Deadline::never() : due);
    if (is_over()) co_return;
  }
  cut_by = "nothing was received for " + std::to_string(options.silence.count()) + " ms";
}

ResumableChannel::ResumableChannel(Executor executor, Dial dial, std::string sandbox, ResumeOptions options)
    : state_(std::make_shared<State>(std::move(executor), std::move(dial), std::move(sandbox), options)) {}

ResumableChannel::~ResumableChannel() { close(); }

Task<Result<std::size_t>> ResumableChannel::read_some(std::span<char> into) {
  const auto state = state_;
  state->start();
  for (;;) {
    if (state->is_closed) co_return fail(state->why_over());
    const std::string_view bytes = state->side.readable().substr(0, into.size());
    if (!bytes.empty()) {
      std::ranges::copy(bytes, into.begin());
      const std::size_t count = bytes.size();
      state->side.consume(count);
      const bool is_first = !state->ack_at;
      if (is_first) state->ack_at = Deadline::Clock::now() + state->options.ack_delay;
      if (is_first || state->side.unannounced() >= relay::ack_bytes) state->sendable.notify();
      co_return count;
    }
    if (state->is_at_end) co_return std::size_t{0};
    if (state->failure) co_return fail(*state->failure);
    co_await state->readable.wait();
  }
}

Task<Status> ResumableChannel::write_all(std::string_view bytes) {
  const auto state = state_;
  state->start();
  while (!bytes.empty()) {
    if (state->is_over()) co_return fail(state->why_over());
    const std::size_t taken = state->side.write(bytes);
    bytes.remove_prefix(taken);
    if (taken > 0) {
      state->sendable.notify();
    } else {
      co_await state->writable.wait();
    }
  }
  co_return Status{};
}

void ResumableChannel::close() { state_->close(); }

Task<> ResumableChannel::shut_down() {
  const auto state = state_;
  state->close();
  co_await state->tasks.shut_down();
}

bool ResumableChannel::has_ended() const { return state_->is_over(); }

void ResumableChannel::set_frozen(bool frozen) {
  if (std::exchange(state_->is_frozen, frozen) == frozen) return;
  state_->last_heard = Deadline::Clock::now();
  state_->changed.notify();
}

}  // namespace cloche
