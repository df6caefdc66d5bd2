#include "sandbox/agent_link.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <unordered_map>

#include "core/async/exceptions.hpp"
#include "core/async/task_group.hpp"
#include "core/fault_point.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "core/utf8.hpp"
#include "sandbox/frozen_time.hpp"

namespace cloche {

namespace {

// Undelivered messages of one stream, and bytes waiting to be written in all, before the agent is called a liar and
// our own senders wait.
constexpr std::size_t max_queued_messages = 16 * 1024 * 1024;
// The cost of a message besides its bytes: many small ones are not cheaper than a large one.
constexpr std::size_t message_overhead = 128;
// The limit of an agent's error message.
constexpr std::size_t most_words = 2048;
constexpr std::size_t max_pending_output = 1024 * 1024;
constexpr std::size_t read_size = 256 * 1024;

// An agent's words end up in answers and logs: they are text of one line, whatever they were.
std::string one_line(std::string_view words) {
  std::string line = to_utf8(words.substr(0, most_words));
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return line;
}

Error lost_error(std::string why) { return {ErrorCode::sandbox_lost, "the sandbox was lost: " + std::move(why)}; }

}  // namespace

struct AgentStream::State {
  State(Executor executor, wire::StreamId stream_id) : id(stream_id), changed(std::move(executor)) {}

  wire::StreamId id;
  std::weak_ptr<AgentLink::State> link;
  std::shared_ptr<const FrozenTime> frozen;
  std::deque<StreamEvent> events;
  std::size_t queued_message_bytes = 0;
  wire::LaneCredit send_credit = wire::full_credit();
  wire::LaneCredit receive_credit = wire::full_credit();
  wire::LaneCredit owed_credit{};
  std::array<bool, wire::lane::count> at_end{};
  wire::MessageAssembler assembler;
  std::optional<Error> error;
  bool ended = false;  // no more events will come
  bool interrupted = false;
  Event changed;

  std::optional<StreamEvent> take_event();
  // Within the credit and what may wait to be written.
  std::size_t send_some(AgentLink::State& to, std::uint8_t lane, std::string_view bytes);
};

struct AgentLink::State : std::enable_shared_from_this<AgentLink::State> {
  State(Executor e, std::shared_ptr<Enclosure> walls)
      : executor(e), enclosure(std::move(walls)), output_changed(e), output_room(e), greeted(e), ponged(e), tasks(e) {}

  Executor executor;
  std::shared_ptr<Enclosure> enclosure;
  std::shared_ptr<FrozenTime> frozen = std::make_shared<FrozenTime>();
  wire::FrameDecoder decoder;
  std::string output;
  bool stopping = false;
  bool is_ending = false;  // the channel has ended; the cause is being determined
  std::optional<Error> lost;
  std::function<void()> on_lost;
  std::function<Task<std::string>()> explain_end;
  std::string nonce;
  bool scanning = false;  // after a takeover: skip all until the answer to our own hello
  std::string scan_buffer;
  std::optional<wire::Ready> ready;
  std::uint64_t pings = 0;
  std::uint64_t pongs = 0;
  wire::StreamId next_id = 1;
  std::unordered_map<wire::StreamId, std::shared_ptr<AgentStream::State>> streams;
  Event output_changed;
  Event output_room;
  Event greeted;
  Event ponged;
  TaskGroup tasks;

  void fail_all(Error error) {
    if (lost) return;
    lost = error;
    for (auto& [id, stream] : streams) {
      stream->error = error;
      stream->ended = true;
      stream->changed.notify();
    }
    streams.clear();
    enclosure->channel().close();
    output_changed.notify();
    output_room.notify();
    greeted.notify();
    ponged.notify();
    if (on_lost && !stopping) asio::post(executor, std::exchange(on_lost, {}));
  }

  void queue(const wire::Frame& frame) {
    if (lost) return;
    wire::append_frame(output, frame);
    output_changed.notify();
  }

  void return_credit(AgentStream::State& stream, std::uint8_t lane, std::size_t bytes) {
    auto& owed = stream.owed_credit[lane];
    owed += bytes;
    if (owed < wire::initial_credit / 4 || stream.ended) return;
    const wire::Credit credit{static_cast<std::uint32_t>(owed)};
    stream.receive_credit[lane] += owed;
    owed = 0;
    const std::string payload = wire::encode(credit);
    queue({.type = wire::FrameType::credit, .lane = lane, .stream = stream.id, .payload = payload});
  }

  // The channel is unusable: determines the cause, then fails everything.
  Task<> lose(std::string why);
  // Runs a loop. However it ends, no one is left to wait for it.
  Task<> guard_loop(std::string what, Task<> (State::*loop)());
  Task<> read_loop();
  Task<> write_loop();
  Status take_bytes(std::span<const char> bytes);
  Status take_frame(const wire::Frame& frame);
  Status take_stream_frame(AgentStream::State& stream, const wire::Frame& frame);
  bool find_answer(std::string_view bytes);
};

Task<> AgentLink::State::lose(std::string why) {
  if (std::exchange(is_ending, true)) co_return;
  if (explain_end) {
    std::string cause = co_await explain_end();
    if (!cause.empty()) why = std::move(cause);
  }
  if (!stopping) fail_all(lost_error(std::move(why)));
}

Task<> AgentLink::State::guard_loop(std::string what, Task<> (State::*loop)()) {
  const auto self = shared_from_this();
  std::exception_ptr thrown;
  try {
    co_await (this->*loop)();
  } catch (...) {
    thrown = std::current_exception();
  }
  if (thrown) fail_all(to_error("sandbox " + enclosure->id().value + ": " + what, thrown));
}

Task<> AgentLink::State::read_loop() {
  while (!lost && !stopping && !is_ending) {
    const std::span<char> room = decoder.room(read_size);
    auto n = co_await enclosure->channel().read_some(room);
    if (stopping) co_return;
    fault_point<"link.read">();
    if (!n) {
      co_await lose(n.error().message);
    } else if (*n == 0) {
      co_await lose("its agent ended");
    } else if (auto taken = take_bytes(room.first(*n)); !taken) {
      log::warn("sandbox {}: cut off: {}", enclosure->id().value, taken.error().message);
      fail_all({ErrorCode::protocol, "the sandbox's agent violated the protocol: " + taken.error().message});
    }
  }
}

Task<> AgentLink::State::write_loop() {
  while (!lost && !stopping && !is_ending) {
    if (output.empty()) {
      co_await output_changed.wait();
      continue;
    }
    const std::string batch = std::exchange(output, {});
    output_room.notify();
    fault_point<"link.write">();
    auto written = co_await enclosure->channel().write_all(batch);
    if (!written && !stopping) co_await lose(written.error().message);
  }
}

// The bytes are in the decoder's room.
Status AgentLink::State::take_bytes(std::span<const char> bytes) {
  if (scanning) {
    if (!find_answer({bytes.data(), bytes.size()})) return {};
  } else {
    decoder.fed(bytes.size());
  }
  for (;;) {
    CLOCHE_TRY(const auto frame, decoder.next());
    if (!frame) return {};
    CLOCHE_CHECK(take_frame(*frame));
  }
}

// After a takeover the first bytes may be the rest of anything. Only the answer to our own hello has our nonce in it.
bool AgentLink::State::find_answer(std::string_view bytes) {
  constexpr std::size_t longest_answer = 4096;
  scan_buffer.append(bytes);
  // An agent may send anything before its response, and any amount of it: a position where no response can begin costs
  // only a check of a header, on the thread that all others wait for.
  for (std::size_t at = 0; (at = scan_buffer.find(static_cast<char>(wire::FrameType::ready), at)) != std::string::npos;
       ++at) {
    const auto frame = wire::whole_frame_at(std::string_view(scan_buffer).substr(at, longest_answer));
    if (!frame || frame->payload.find(nonce) == std::string_view::npos) continue;
    const auto answer = wire::decode<wire::Ready>(frame->payload);
    if (!answer || answer->nonce != nonce) continue;
    decoder.feed(std::string_view(scan_buffer).substr(at));
    scan_buffer.clear();
    scanning = false;
    return true;
  }
  // Older bytes cannot be part of it.
  if (scan_buffer.size() > longest_answer) scan_buffer.erase(0, scan_buffer.size() - longest_answer);
  return false;
}

Status AgentLink::State::take_frame(const wire::Frame& frame) {
  using enum wire::FrameType;
  if (frame.type == wire::FrameType::ready) {
    CLOCHE_TRY(auto answer, wire::decode<wire::Ready>(frame.payload));
    if (answer.nonce != nonce) return fail(ErrorCode::protocol, "response to another hello");
    this->ready = std::move(answer);
    greeted.notify();
    return {};
  }
  if (frame.type == pong) {
    ++pongs;
    ponged.notify();
    return {};
  }
  const auto found = streams.find(frame.stream);
  if (found == streams.end()) return {};  // crossed with our forgetting it
  const auto stream = found->second;
  return take_stream_frame(*stream, frame);
}

Status AgentLink::State::take_stream_frame(AgentStream::State& stream, const wire::Frame& frame) {
  using enum wire::FrameType;
  switch (frame.type) {
    case data:
      if (frame.payload.size() > stream.receive_credit[frame.lane])
        return fail(ErrorCode::protocol, "more data than its credit allows");
      // What costs no credit would be unlimited.
      if (frame.payload.empty()) return fail(ErrorCode::protocol, "empty data frame");
      stream.receive_credit[frame.lane] -= frame.payload.size();
      stream.events.push_back(StreamData{frame.lane, std::string(frame.payload)});
      break;
    case eof:
      if (std::exchange(stream.at_end[frame.lane], true)) return fail(ErrorCode::protocol, "second end of a lane");
      stream.events.push_back(StreamEof{frame.lane});
      break;
    case message: {
      CLOCHE_TRY(const auto whole, stream.assembler.add(frame));
      if (!whole) return {};
      stream.queued_message_bytes += whole->size() + message_overhead;
      if (stream.queued_message_bytes > max_queued_messages) return fail(ErrorCode::protocol, "too many messages");
      stream.events.push_back(StreamMessage{std::string(*whole)});
      break;
    }
    case credit: {
      CLOCHE_TRY(const auto given, wire::decode<wire::Credit>(frame.payload));
      stream.send_credit[frame.lane] =
          std::min<std::uint64_t>(stream.send_credit[frame.lane] + given.bytes, std::uint64_t{1} << 32);
      break;
    }
    case close: {
      CLOCHE_TRY(const auto closed, wire::decode<wire::Closed>(frame.payload));
      if (closed.reason == wire::CloseReason::none) {
        stream.events.push_back(StreamClosed{});
      } else {
        stream.error = Error{wire::error_code_of(closed.reason), one_line(closed.message)};
      }
      stream.ended = true;
      streams.erase(stream.id);
      break;
    }
    default: return fail(ErrorCode::protocol, "frame that only the server may send");
  }
  stream.changed.notify();
  return {};
}

AgentStream::~AgentStream() { abandon(); }

void AgentStream::abandon() {
  if (state_->ended) return;
  cancel();
  state_->ended = true;
  state_->error = Error{ErrorCode::cancelled, "the stream was closed"};
  state_->events.clear();
  state_->changed.notify();
  // What still arrives is ignored; the agent's close ends the id. It must not wait for credit until then.
  const auto link = state_->link.lock();
  if (!link) return;
  const std::string all = wire::encode(wire::Credit{UINT32_MAX});
  for (const std::uint8_t lane : {wire::lane::out, wire::lane::err, wire::lane::event}) {
    link->queue({.type = wire::FrameType::credit, .lane = lane, .stream = state_->id, .payload = all});
  }
  link->streams.erase(state_->id);
}

Task<Result<StreamEvent>> AgentStream::next(Deadline deadline) {
  const auto state = state_;
  const PatientDeadline patience(*state->frozen, deadline);
  for (;;) {
    if (auto event = state->take_event()) co_return std::move(*event);
    if (state->error) co_return fail(*state->error);
    if (state->ended) co_return fail(ErrorCode::internal, "the stream has ended");
    if (patience.passed()) co_return fail(ErrorCode::timeout, "the sandbox did not respond in time");
    co_await state->changed.wait(patience.current());
  }
}

Task<Result<std::optional<StreamEvent>>> AgentStream::next_or_interrupted(Deadline deadline) {
  const auto state = state_;
  const PatientDeadline patience(*state->frozen, deadline);
  for (;;) {
    if (auto event = state->take_event()) co_return std::move(event);
    if (state->error) co_return fail(*state->error);
    if (state->ended) co_return fail(ErrorCode::internal, "the stream has ended");
    if (std::exchange(state->interrupted, false)) co_return std::optional<StreamEvent>();
    if (patience.passed()) co_return fail(ErrorCode::timeout, "the sandbox did not respond in time");
    co_await state->changed.wait(patience.current());
  }
}

void AgentStream::interrupt() {
  state_->interrupted = true;
  state_->changed.notify();
}

std::optional<StreamEvent> AgentStream::next_if_ready() { return state_->take_event(); }

std::optional<StreamEvent> AgentStream::State::take_event() {
  if (events.empty()) return std::nullopt;
  StreamEvent event = std::move(events.front());
  events.pop_front();
  if (const auto* data = std::get_if<StreamData>(&event)) {
    if (const auto owner = link.lock()) owner->return_credit(*this, data->lane, data->bytes.size());
  } else if (const auto* message = std::get_if<StreamMessage>(&event)) {
    queued_message_bytes -= message->bytes.size() + message_overhead;
  }
  return event;
}

Task<Status> AgentStream::send_data(std::uint8_t lane, std::string bytes, Deadline deadline) {
  auto sent = co_await send_view(lane, bytes, deadline);
  co_return sent;
}

Task<Status> AgentStream::send_view(std::uint8_t lane, std::string_view bytes, Deadline deadline) {
  const auto state = state_;
  const PatientDeadline patience(*state->frozen, deadline);
  while (!bytes.empty()) {
    const auto link = state->link.lock();
    if (state->error) co_return fail(*state->error);
    if (state->ended || !link) co_return Status{};  // the program is gone; the rest is not needed
    if (patience.passed()) co_return fail(ErrorCode::timeout, "the sandbox did not read its input in time");
    if (link->output.size() >= max_pending_output) {
      co_await link->output_room.wait(patience.current());
      continue;
    }
    const std::size_t sent = state->send_some(*link, lane, bytes);
    bytes.remove_prefix(sent);
    if (sent == 0) co_await state->changed.wait(patience.current());
  }
  co_return Status{};
}

std::size_t AgentStream::send_some(std::uint8_t lane, std::string_view bytes) {
  const auto link = state_->link.lock();
  return link && !state_->ended ? state_->send_some(*link, lane, bytes) : 0;
}

std::size_t AgentStream::State::send_some(AgentLink::State& to, std::uint8_t lane, std::string_view bytes) {
  if (to.output.size() >= max_pending_output) return 0;
  bytes = bytes.substr(0, send_credit[lane]);
  send_credit[lane] -= bytes.size();
  const std::size_t sent = bytes.size();
  const std::size_t frames = sent / wire::max_payload + 1;
  to.output.reserve(to.output.size() + sent + frames * (wire::header_size + wire::seal_size));
  while (!bytes.empty()) {
    const std::string_view payload = bytes.substr(0, wire::max_payload);
    to.queue({.type = wire::FrameType::data, .lane = lane, .stream = id, .payload = payload});
    bytes.remove_prefix(payload.size());
  }
  return sent;
}

void AgentStream::send_eof(std::uint8_t lane) {
  if (const auto link = state_->link.lock(); link && !state_->ended) {
    link->queue({.type = wire::FrameType::eof, .lane = lane, .stream = state_->id});
  }
}

void AgentStream::send_message(std::string_view encoded) {
  if (const auto link = state_->link.lock(); link && !state_->ended && !link->lost) {
    wire::append_message(link->output, wire::FrameType::message, state_->id, encoded);
    link->output_changed.notify();
  }
}

void AgentStream::cancel() {
  if (const auto link = state_->link.lock(); link && !state_->ended) {
    link->queue({.type = wire::FrameType::cancel, .stream = state_->id});
  }
}

AgentLink::AgentLink(Executor executor, std::shared_ptr<Enclosure> enclosure)
    : state_(std::make_shared<State>(std::move(executor), std::move(enclosure))) {}

AgentLink::~AgentLink() {
  state_->stopping = true;
  state_->fail_all({ErrorCode::cancelled, "the sandbox was released"});
  state_->tasks.cancel();
}

Task<Result<wire::Ready>> AgentLink::greet(Greeting greeting, std::vector<std::string> keep, Deadline deadline) {
  const auto state = state_;
  state->nonce = random_hex(16);
  wire::Hello hello;
  hello.version = wire::protocol_version;
  hello.nonce = state->nonce;
  hello.keep = std::move(keep);
  hello.root = state->enclosure->spec().root;
  if (greeting == Greeting::takeover) {
    state->scanning = true;
    state->output += wire::resync_padding();
  }
  const std::string payload = wire::encode(hello);
  state->queue({.type = wire::FrameType::hello, .payload = payload});
  // The tasks keep the state alive until they end; shut_down() or a lost channel ends them.
  state->tasks.spawn("agent link: read", [state] { return state->guard_loop("read", &State::read_loop); });
  state->tasks.spawn("agent link: write", [state] { return state->guard_loop("write", &State::write_loop); });
  while (!state->ready && !state->lost && !deadline.passed()) co_await state->greeted.wait(deadline);
  if (state->lost) co_return fail(*state->lost);
  if (!state->ready) co_return fail(ErrorCode::timeout, "the sandbox's agent was not ready in time");
  if (state->ready->version != wire::protocol_version) {
    co_return fail(ErrorCode::protocol, "the sandbox's agent uses protocol " + std::to_string(state->ready->version) +
                                            " but this server uses " + std::to_string(wire::protocol_version));
  }
  co_return *state->ready;
}

Result<std::unique_ptr<AgentStream>> AgentLink::open(std::string_view request) {
  if (state_->lost) return fail(*state_->lost);
  if (request.size() > wire::max_message) {
    return fail(ErrorCode::invalid_argument,
                "the request is too long: arguments and environment must stay below 4 MiB");
  }
  const wire::StreamId id = state_->next_id++;
  auto stream = std::make_shared<AgentStream::State>(state_->executor, id);
  stream->link = state_;
  stream->frozen = state_->frozen;
  state_->streams.emplace(id, stream);
  wire::append_message(state_->output, wire::FrameType::open, id, request);
  state_->output_changed.notify();
  return std::unique_ptr<AgentStream>(new AgentStream(std::move(stream)));
}

Task<Status> AgentLink::ping(Deadline deadline) {
  const auto state = state_;
  const std::uint64_t awaited = ++state->pings;
  state->queue({.type = wire::FrameType::ping});
  const PatientDeadline patience(*state->frozen, deadline);
  while (state->pongs < awaited && !state->lost && !patience.passed()) {
    co_await state->ponged.wait(patience.current());
  }
  if (state->lost) co_return fail(*state->lost);
  if (state->pongs < awaited) co_return fail(ErrorCode::timeout, "the sandbox's agent did not respond in time");
  co_return Status{};
}

void AgentLink::set_frozen(bool frozen) {
  state_->frozen->set_frozen(frozen);
  // Those that wait look at their deadlines again.
  for (auto& [id, stream] : state_->streams) stream->changed.notify();
  state_->output_room.notify();
  state_->ponged.notify();
}

std::uint32_t AgentLink::file_level() const { return state_->ready ? state_->ready->file_level : 0; }

std::uint32_t AgentLink::egress_level() const { return state_->ready ? state_->ready->egress_level : 0; }

std::shared_ptr<const FrozenTime> AgentLink::frozen_time() const { return state_->frozen; }
const Executor& AgentLink::executor() const { return state_->executor; }

std::optional<Error> AgentLink::lost() const { return state_->lost; }

void AgentLink::explain_end_with(std::function<Task<std::string>()> explain) {
  state_->explain_end = std::move(explain);
}

void AgentLink::on_lost(std::function<void()> tell) {
  if (state_->lost) {
    asio::post(state_->executor, std::move(tell));
  } else {
    state_->on_lost = std::move(tell);
  }
}

void AgentLink::cut_off(Error why) {
  state_->stopping = true;
  state_->fail_all(std::move(why));
}

Task<> AgentLink::shut_down() {
  const auto state = state_;
  state->stopping = true;
  state->fail_all({ErrorCode::cancelled, "the sandbox was released"});
  co_await state->tasks.shut_down();
}

}  // namespace cloche
