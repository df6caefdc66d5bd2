#include "sandbox/resumable_channel.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <random>

#include "core/async/event.hpp"
#include "core/async/task_group.hpp"
#include "core/fault_point.hpp"
#include "relay/protocol.hpp"
#include "relay/side.hpp"

namespace cloche {
namespace {

using namespace std::chrono_literals;

std::string noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

// A connection whose other end is a function of the test. It is cut after so many bytes of either direction.
class TestConnection final : public Channel {
 public:
  explicit TestConnection(Executor executor) : changed_(executor) {}

  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    while (to_server_.empty() && !is_cut_) co_await changed_.wait();
    if (is_closed_) co_return fail(ErrorCode::unavailable, "the connection was closed here");
    if (to_server_.empty() && ends_with_error) co_return fail(ErrorCode::unavailable, "the connection was reset");
    const std::size_t count = to_server_.copy(into.data(), into.size());
    to_server_.erase(0, count);
    co_return count;
  }
  Task<Status> write_all(std::string_view bytes) override {
    while (is_stuck && !is_cut_) co_await changed_.wait();
    if (is_cut_) co_return fail(ErrorCode::unavailable, "the connection is broken");
    const std::string_view through = bytes.substr(0, most_up);
    most_up -= through.size();
    if (!through.empty()) hear(through);
    if (through.size() < bytes.size()) {
      cut();
      co_return fail(ErrorCode::unavailable, "the connection broke");
    }
    co_return Status{};
  }
  void close() override {
    is_closed_ = true;
    cut();
  }

  void say(std::string_view bytes) {
    if (is_cut_) return;
    const std::string_view through = bytes.substr(0, most_down);
    most_down -= through.size();
    to_server_ += through;
    if (through.size() < bytes.size()) cut();
    changed_.notify();
  }
  void cut() {
    is_cut_ = true;
    changed_.notify();
  }
  bool is_cut() const { return is_cut_; }

  std::function<void(std::string_view)> hear = [](std::string_view) {};
  std::size_t most_up = SIZE_MAX;
  std::size_t most_down = SIZE_MAX;
  bool ends_with_error = false;
  bool is_stuck = false;

 private:
  Event changed_;
  std::string to_server_;
  bool is_cut_ = false;
  bool is_closed_ = false;
};

// The dials of a test keep their connections, also those that the channel has dropped.
class SharedConnection final : public Channel {
 public:
  explicit SharedConnection(std::shared_ptr<TestConnection> shared) : shared_(std::move(shared)) {}
  Task<Result<std::size_t>> read_some(std::span<char> into) override { return shared_->read_some(into); }
  Task<Status> write_all(std::string_view bytes) override { return shared_->write_all(bytes); }
  void close() override { shared_->close(); }

 private:
  std::shared_ptr<TestConnection> shared_;
};

// A relay without processes: says what the test gives it, and keeps what it hears.
class TestRelay {
 public:
  void take(const std::shared_ptr<TestConnection>& connection) {
    auto handshake = std::make_shared<std::string>();
    auto decoder = std::make_shared<relay::Decoder>();
    connection->hear = [this, handshake, decoder, to = std::weak_ptr(connection)](std::string_view bytes) {
      const auto connected = to.lock();
      const std::string_view first = bytes.substr(0, relay::handshake_size - handshake->size());
      if (!first.empty()) {
        *handshake += first;
        bytes.remove_prefix(first.size());
        if (handshake->size() == relay::handshake_size) greet(connected, *handshake);
      }
      while (!bytes.empty() && current_ == connected) {
        bytes.remove_prefix(decoder->feed(bytes));
        for (;;) {
          const auto frame = decoder->next();
          ASSERT_TRUE(frame) << frame.error().message;
          if (!*frame) break;
          const auto taken = side_.take(**frame);
          ASSERT_TRUE(taken) << taken.error().message;
        }
        if (!is_slow) pass_on();
        // As the real one, which ends then.
        if (has_ended_ && side_.is_acknowledged()) return connected->cut();
        speak();
      }
    };
  }

  void say(std::string_view bytes) {
    to_say_ += bytes;
    speak();
  }
  void end_agent() {
    has_ended_ = true;
    speak();
  }
  void pass_on() {
    heard += side_.readable();
    side_.consume(side_.readable().size());
  }
  void speak() {
    if (!current_) return;
    to_say_.erase(0, side_.write(to_say_));
    std::string bytes;
    if (side_.unannounced() > 0) side_.append_ack_to(bytes);
    side_.append_data_to(bytes, SIZE_MAX);
    if (has_ended_ && to_say_.empty()) relay::append_end(bytes, relay::Reason::agent_ended);
    if (!bytes.empty()) current_->say(bytes);
  }
  bool is_acknowledged() const { return side_.is_acknowledged(); }

  std::string heard;
  bool is_slow = false;  // it passes nothing on by itself
  std::vector<relay::Handshake> handshakes;

 private:
  void greet(const std::shared_ptr<TestConnection>& connected, const std::string& bytes) {
    const auto hello =
        relay::decode_handshake(std::span<const char, relay::handshake_size>(bytes.data(), bytes.size()));
    ASSERT_TRUE(hello);
    ASSERT_TRUE(side_.can_continue_at(hello->consumed)) << hello->consumed;
    handshakes.push_back(*hello);
    relay::Handshake reply{.kind = relay::HandshakeKind::accepted,
                           .conversation = hello->conversation,
                           .attempt = hello->attempt,
                           .consumed = side_.start_connection()};
    ASSERT_TRUE(side_.continue_at(hello->consumed));
    current_ = connected;
    connected->say(relay::encode(reply));
    speak();
  }

  relay::Side side_;
  std::string to_say_;
  bool has_ended_ = false;
  std::shared_ptr<TestConnection> current_;
};

ResumeOptions quick() {
  return {.patience = 30s, .first_delay = 0ms, .longest_delay = 0ms, .dial_timeout = 30s, .ack_delay = 0ms};
}

class ResumableChannelTest : public testing::Test {
 protected:
  // How the next connections are made; the last one stays.
  using Prepare = std::function<void(const std::shared_ptr<TestConnection>&)>;

  void open(Prepare prepare, ResumeOptions options = quick()) {
    Dial dial = [this, prepare = std::move(prepare)](Deadline) -> Task<Result<std::unique_ptr<Channel>>> {
      ++dials_;
      if (dial_error_) co_return fail(*dial_error_);
      connections_.push_back(std::make_shared<TestConnection>(io_.get_executor()));
      prepare(connections_.back());
      co_return std::make_unique<SharedConnection>(connections_.back());
    };
    open_with(std::move(dial), options);
  }
  void open_with(Dial dial, ResumeOptions options = quick()) {
    channel_ = std::make_unique<ResumableChannel>(io_.get_executor(), std::move(dial), "box", options);
  }
  void open_to_relay(ResumeOptions options = quick()) {
    open([this](const auto& connection) { relay_.take(connection); }, options);
  }
  // A relay that accepts each handshake, and then says these bytes.
  void open_to_liar(std::function<std::string(relay::Handshake)> reply, ResumeOptions options = quick()) {
    open(
        [reply](const std::shared_ptr<TestConnection>& connection) {
          connection->hear = [reply, to = std::weak_ptr(connection), done = false](std::string_view bytes) mutable {
            if (std::exchange(done, true)) return;
            const auto hello = relay::decode_handshake(
                std::span<const char, relay::handshake_size>(bytes.data(), relay::handshake_size));
            to.lock()->say(reply(*hello));
          };
        },
        options);
  }
  static std::string accepted(relay::Handshake hello, std::uint64_t consumed = 0) {
    hello.kind = relay::HandshakeKind::accepted;
    hello.consumed = consumed;
    return relay::encode(hello);
  }
  static std::string refused(relay::Handshake hello, relay::Reason reason) {
    hello.kind = relay::HandshakeKind::refused;
    hello.reason = reason;
    return relay::encode(hello);
  }

  Task<Result<std::string>> read_exactly(std::size_t size) {
    std::string bytes;
    std::vector<char> buffer(64 * 1024);
    while (bytes.size() < size) {
      const std::span<char> room = std::span(buffer).first(std::min(buffer.size(), size - bytes.size()));
      auto count = co_await channel_->read_some(room);
      if (!count) co_return fail(std::move(count).error());
      if (*count == 0) co_return fail(ErrorCode::not_found, "the end");
      bytes.append(buffer.data(), *count);
    }
    co_return bytes;
  }
  // The error of a read.
  Task<std::optional<ErrorCode>> read_error() {
    auto read = co_await read_exactly(SIZE_MAX);
    co_return read.error().code;
  }

  void run(std::function<Task<>()> body) {
    std::exception_ptr thrown;
    bool is_done = false;
    asio::co_spawn(
        io_,
        [&]() -> Task<> {
          co_await body();
          if (channel_) co_await channel_->shut_down();
          is_done = true;
        },
        [&](std::exception_ptr e) { thrown = e; });
    io_.run_for(60s);
    if (thrown) std::rethrow_exception(thrown);
    ASSERT_TRUE(is_done) << "it hangs";
    io_.restart();
  }

  // Both directions at once, with connections that `prepare` makes. All must arrive.
  void talk(const std::string& up, const std::string& down, std::size_t piece, Prepare prepare) {
    relay_ = TestRelay();
    open([&](const auto& connection) {
      prepare(connection);
      relay_.take(connection);
    });
    relay_.say(down);
    run([&]() -> Task<> {
      TaskGroup writers(io_.get_executor());
      writers.spawn("writer", [&]() -> Task<> {
        for (std::size_t at = 0; at < up.size(); at += piece) {
          const auto written = co_await channel_->write_all(std::string_view(up).substr(at, piece));
          EXPECT_TRUE(written) << written.error().message;
        }
      });
      const auto read = co_await read_exactly(down.size());
      EXPECT_TRUE(read) << read.error().message;
      EXPECT_TRUE(read && *read == down);
      co_await writers.join();
      while (relay_.heard.size() < up.size()) co_await pause_for(0ms);
      EXPECT_TRUE(relay_.heard == up);
    });
    channel_.reset();
    connections_.clear();
  }

  asio::io_context io_;
  TestRelay relay_;
  std::optional<Error> dial_error_;
  int dials_ = 0;
  std::vector<std::shared_ptr<TestConnection>> connections_;
  std::unique_ptr<ResumableChannel> channel_;
};

TEST_F(ResumableChannelTest, NothingIsDialled_BeforeItIsUsed) {
  open_to_relay();
  run([&]() -> Task<> {
    co_await pause_for(5ms);
    EXPECT_EQ(dials_, 0);
  });
}

TEST_F(ResumableChannelTest, CutAtEveryByteOfEitherDirection_EveryByteArrivesOnceAndInOrder) {
  const std::string up = noise(120, 1);
  const std::string down = noise(150, 2);
  for (const bool is_up : {true, false}) {
    for (std::size_t at = 0; at < 330; ++at) {
      int connections = 0;
      talk(up, down, 40, [&](const std::shared_ptr<TestConnection>& connection) {
        // Two in a row, so that what is sent again is cut, too.
        if (++connections <= 2) (is_up ? connection->most_up : connection->most_down) = at;
        connection->ends_with_error = connections == 2;
      });
      ASSERT_FALSE(HasFailure()) << (is_up ? "to" : "from") << " the relay, cut at byte " << at;
    }
  }
}

TEST_F(ResumableChannelTest, LongConversationWithManyRandomCuts_EveryByteArrivesOnceAndInOrder) {
  std::mt19937 random(11);
  talk(noise(3'000'000, 3), noise(5'000'000, 4), 50'000, [&](const std::shared_ptr<TestConnection>& connection) {
    connection->most_up = random() % 300'000;
    connection->most_down = random() % 300'000;
    connection->ends_with_error = random() % 2 == 0;
  });
  EXPECT_GT(dials_, 20);
}

TEST_F(ResumableChannelTest, EachDial_ContinuesTheSameConversation) {
  open_to_relay();
  run([&]() -> Task<> {
    relay_.say("abc");
    const auto first = co_await read_exactly(3);
    EXPECT_EQ(first.value(), "abc");
    connections_.back()->cut();
    relay_.say("def");
    const auto second = co_await read_exactly(3);
    EXPECT_EQ(second.value(), "def");
    EXPECT_EQ(relay_.handshakes.size(), 2u);
    EXPECT_EQ(relay_.handshakes[0].kind, relay::HandshakeKind::begin);
    EXPECT_EQ(relay_.handshakes[1].kind, relay::HandshakeKind::resume);
    EXPECT_EQ(relay_.handshakes[0].conversation, relay_.handshakes[1].conversation);
    EXPECT_LT(relay_.handshakes[0].attempt, relay_.handshakes[1].attempt);
    EXPECT_EQ(relay_.handshakes[1].consumed, 3u);
  });
}

TEST_F(ResumableChannelTest, AnotherChannel_IsAnotherConversation) {
  open_to_relay();
  run([&]() -> Task<> {
    (void)co_await channel_->write_all("x");
    while (relay_.heard.empty()) co_await pause_for(1ms);
  });
  const auto first = relay_.handshakes.at(0).conversation;
  relay_ = TestRelay();
  open_to_relay();
  run([&]() -> Task<> {
    (void)co_await channel_->write_all("x");
    while (relay_.heard.empty()) co_await pause_for(1ms);
  });
  EXPECT_NE(first, relay_.handshakes.at(0).conversation);
}

TEST_F(ResumableChannelTest, AgentThatEnds_IsTheEndOfTheStreamAfterItsLastBytes) {
  ResumeOptions options = quick();
  options.ack_delay = 1h;
  open_to_relay(options);
  run([&]() -> Task<> {
    relay_.say("last words");
    relay_.end_agent();
    const auto words = co_await read_exactly(10);
    EXPECT_EQ(words.value(), "last words");
    std::array<char, 10> rest;
    const auto end = co_await channel_->read_some(rest);
    EXPECT_EQ(end.value(), 0u);
    EXPECT_TRUE(channel_->has_ended());
    EXPECT_TRUE(relay_.is_acknowledged()) << "the relay would wait for another dial";
    const auto written = co_await channel_->write_all("x");
    EXPECT_EQ(written.error().code, ErrorCode::sandbox_lost);
    EXPECT_EQ(dials_, 1);
  });
}

TEST_F(ResumableChannelTest, AgentThatEndedDuringACut_IsTheEndOfTheStream) {
  open_to_relay();
  run([&]() -> Task<> {
    relay_.say("abc");
    (void)co_await read_exactly(3);
    connections_.back()->cut();
    relay_.say("def");
    relay_.end_agent();
    const auto rest = co_await read_exactly(3);
    EXPECT_EQ(rest.value(), "def");
    EXPECT_EQ(co_await read_error(), ErrorCode::not_found) << "the end";
  });
}

TEST_F(ResumableChannelTest, SandboxWithoutARelay_IsTheEndOfTheStream) {
  open_to_liar([](relay::Handshake) { return refused({}, relay::Reason::no_relay); });
  run([&]() -> Task<> {
    std::array<char, 10> room;
    const auto end = co_await channel_->read_some(room);
    EXPECT_EQ(end.value(), 0u);
    EXPECT_EQ(dials_, 1);
  });
}

struct Refusal {
  relay::Reason reason;
  ErrorCode code;
};
class RefusedChannel : public ResumableChannelTest, public testing::WithParamInterface<Refusal> {};

TEST_P(RefusedChannel, Handshake_IsFinal) {
  open_to_liar([](relay::Handshake hello) { return refused(hello, GetParam().reason); });
  run([&]() -> Task<> {
    EXPECT_EQ(co_await read_error(), GetParam().code);
    EXPECT_EQ(dials_, 1);
    EXPECT_TRUE(channel_->has_ended());
    const auto written = co_await channel_->write_all("x");
    EXPECT_EQ(written.error().code, GetParam().code);
  });
}

TEST_P(RefusedChannel, End_IsFinal) {
  open_to_liar([](relay::Handshake hello) {
    std::string bytes = accepted(hello);
    relay::append_end(bytes, GetParam().reason);
    return bytes;
  });
  run([&]() -> Task<> {
    EXPECT_EQ(co_await read_error(), GetParam().code);
    EXPECT_EQ(dials_, 1);
  });
}

INSTANTIATE_TEST_SUITE_P(Reasons, RefusedChannel,
                         testing::Values(Refusal{relay::Reason::unknown, ErrorCode::sandbox_lost},
                                         Refusal{relay::Reason::replaced, ErrorCode::sandbox_lost},
                                         Refusal{relay::Reason::out_of_range, ErrorCode::sandbox_lost}));

struct Lie {
  const char* name;
  std::function<std::string(relay::Handshake)> reply;
};
class LyingRelay : public ResumableChannelTest, public testing::WithParamInterface<Lie> {
 public:
  static std::vector<Lie> lies();
};

std::vector<Lie> LyingRelay::lies() {
  return {{"wrong_magic", [](relay::Handshake) { return "HTTP/1.1 200 OK\r\n" + std::string(100, ' '); }},
          {"wrong_version",
           [](relay::Handshake hello) {
             std::string bytes = accepted(hello);
             bytes[8] = 2;
             return bytes;
           }},
          {"servers_handshake", [](relay::Handshake hello) { return relay::encode(hello); }},
          {"other_conversation",
           [](relay::Handshake hello) {
             hello.conversation[3] ^= 1;
             return accepted(hello);
           }},
          {"other_attempt",
           [](relay::Handshake hello) {
             ++hello.attempt;
             return accepted(hello);
           }},
          {"consumed_what_was_not_sent", [](relay::Handshake hello) { return accepted(hello, 1); }},
          {"ack_of_what_was_not_sent",
           [](relay::Handshake hello) {
             std::string bytes = accepted(hello);
             relay::append_ack(bytes, 1'000'000);
             return bytes;
           }},
          {"data_beyond_the_window",
           [](relay::Handshake hello) {
             std::string bytes = accepted(hello);
             const std::string payload(relay::max_payload, 'd');
             for (std::size_t sent = 0; sent <= relay::window; sent += payload.size())
               relay::append_data(bytes, payload);
             return bytes;
           }},
          {"endless_frame", [](relay::Handshake hello) { return accepted(hello) + "\x01\xff\xff\xff\xff"; }},
          {"stale_end",
           [](relay::Handshake hello) {
             std::string bytes = accepted(hello);
             relay::append_end(bytes, relay::Reason::stale);
             return bytes;
           }},
          {"bytes_after_the_end", [](relay::Handshake hello) {
             std::string bytes = accepted(hello);
             relay::append_end(bytes, relay::Reason::stale);
             relay::append_ack(bytes, 0);
             return bytes;
           }}};
}

TEST_P(LyingRelay, IsAProtocolErrorAndNotDialledAgain) {
  open_to_liar(GetParam().reply);
  run([&]() -> Task<> {
    // Waits without reading: what the relay sends too much is not taken in between.
    (void)co_await channel_->write_all("hello");
    while (!channel_->has_ended()) co_await pause_for(1ms);
    EXPECT_EQ(co_await read_error(), ErrorCode::protocol);
    EXPECT_EQ(dials_, 1);
    EXPECT_TRUE(connections_.back()->is_cut());
  });
}

INSTANTIATE_TEST_SUITE_P(Lies, LyingRelay, testing::ValuesIn(LyingRelay::lies()),
                         [](const auto& lie) { return std::string(lie.param.name); });

TEST_F(ResumableChannelTest, HandshakeThatNeverEnds_IsGivenUpAndTriedAgainUntilPatienceIsOver) {
  ResumeOptions options = quick();
  options.dial_timeout = 10ms;
  options.first_delay = options.longest_delay = 1ms;
  options.patience = 200ms;
  open(
      [](const auto& connection) {
        connection->say(relay::encode({.kind = relay::HandshakeKind::accepted}).substr(0, 47));
      },
      options);
  run([&]() -> Task<> {
    EXPECT_EQ(co_await read_error(), ErrorCode::sandbox_lost);
    EXPECT_GT(dials_, 1);
    for (const auto& connection : connections_) EXPECT_TRUE(connection->is_cut());
  });
}

TEST_F(ResumableChannelTest, DialThatAlwaysFails_IsALostSandboxWhenPatienceIsOver) {
  ResumeOptions options = quick();
  options.patience = 100ms;
  options.first_delay = 5ms;
  options.longest_delay = 20ms;
  open_to_relay(options);
  dial_error_ = Error{ErrorCode::unavailable, "the provider does not respond"};
  run([&]() -> Task<> {
    const auto read = co_await read_exactly(1);
    EXPECT_EQ(read.error().code, ErrorCode::sandbox_lost);
    EXPECT_NE(read.error().message.find("the provider does not respond"), std::string::npos) << read.error().message;
    EXPECT_TRUE(channel_->has_ended());
    EXPECT_GT(dials_, 1);
    EXPECT_LT(dials_, 30) << "without a pause";
  });
}

TEST_F(ResumableChannelTest, ConnectionsThatEndAtOnce_AreALostSandboxWhenPatienceIsOver) {
  ResumeOptions options = quick();
  options.patience = 100ms;
  options.first_delay = options.longest_delay = 1ms;
  open(
      [&](const auto& connection) {
        connection->most_down = relay::handshake_size;
        relay_.take(connection);
        relay_.say("x");
      },
      options);
  run([&]() -> Task<> {
    EXPECT_EQ(co_await read_error(), ErrorCode::sandbox_lost);
    EXPECT_GT(dials_, 1);
  });
}

TEST_F(ResumableChannelTest, DialThatKnowsTheSandboxIsGone_EndsItAtOnce) {
  open_to_relay();
  dial_error_ = Error{ErrorCode::sandbox_lost, "it was killed"};
  run([&]() -> Task<> {
    const auto read = co_await read_exactly(1);
    EXPECT_EQ(read.error().code, ErrorCode::sandbox_lost);
    EXPECT_NE(read.error().message.find("it was killed"), std::string::npos) << read.error().message;
    EXPECT_EQ(dials_, 1);
  });
}

TEST_F(ResumableChannelTest, WindowThatIsFull_KeepsTheWriterWaitingUntilItIsAcknowledged) {
  relay_.is_slow = true;
  open_to_relay();
  const std::string most(relay::window, 'm');
  run([&]() -> Task<> {
    const auto first = co_await channel_->write_all(most);
    EXPECT_TRUE(first);
    TaskGroup writers(io_.get_executor());
    bool is_written = false;
    writers.spawn("writer", [&]() -> Task<> {
      (void)co_await channel_->write_all("one more");
      is_written = true;
    });
    co_await pause_for(20ms);
    EXPECT_FALSE(is_written);
    // Also over a cut: nothing was passed on, so all is kept.
    connections_.back()->cut();
    co_await pause_for(20ms);
    EXPECT_FALSE(is_written);
    relay_.is_slow = false;
    relay_.pass_on();
    relay_.speak();
    co_await writers.join();
    EXPECT_TRUE(is_written);
    while (relay_.heard.size() < most.size() + 8) co_await pause_for(1ms);
    EXPECT_TRUE(relay_.heard == most + "one more");
  });
}

TEST_F(ResumableChannelTest, ReaderThatDoesNotRead_StopsTheRelayAtItsWindow) {
  open_to_relay();
  const std::string flood = noise(3 * relay::window, 8);
  relay_.say(flood);
  run([&]() -> Task<> {
    (void)co_await channel_->write_all("x");
    co_await pause_for(20ms);
    EXPECT_FALSE(channel_->has_ended());
    const auto read = co_await read_exactly(flood.size());
    EXPECT_TRUE(read && *read == flood);
  });
}

TEST_F(ResumableChannelTest, Close_EndsReadersAndWritersAtOnce) {
  relay_.is_slow = true;
  open_to_relay();
  const std::string most(2 * relay::window, 'm');
  run([&]() -> Task<> {
    TaskGroup users(io_.get_executor());
    std::optional<Status> written;
    std::optional<ErrorCode> read;
    users.spawn("writer", [&]() -> Task<> { written = co_await channel_->write_all(most); });
    users.spawn("reader", [&]() -> Task<> { read = co_await read_error(); });
    co_await pause_for(10ms);
    EXPECT_FALSE(written || read);
    channel_->close();
    co_await users.join();
    EXPECT_EQ(written->error().code, ErrorCode::unavailable);
    EXPECT_EQ(read, ErrorCode::unavailable);
    EXPECT_TRUE(connections_.back()->is_cut());
    EXPECT_TRUE(channel_->has_ended());
  });
}

TEST_F(ResumableChannelTest, CloseDuringADial_CancelsIt) {
  bool is_cancelled = false;
  Dial hangs = [&](Deadline) -> Task<Result<std::unique_ptr<Channel>>> {
    try {
      co_await never();
    } catch (...) {
      is_cancelled = true;
      throw;
    }
    co_return fail(ErrorCode::internal, "unreachable");
  };
  open_with(std::move(hangs));
  run([&]() -> Task<> {
    TaskGroup users(io_.get_executor());
    std::optional<ErrorCode> read;
    users.spawn("reader", [&]() -> Task<> { read = co_await read_error(); });
    co_await pause_for(5ms);
    channel_->close();
    co_await users.join();
    EXPECT_EQ(read, ErrorCode::unavailable);
    co_await channel_->shut_down();
    EXPECT_TRUE(is_cancelled);
  });
}

TEST_F(ResumableChannelTest, ConnectionThatIsSilent_IsCutAndDialledAgain) {
  ResumeOptions options = quick();
  options.silence = 20ms;
  open_to_relay(options);
  run([&]() -> Task<> {
    relay_.say("abc");
    (void)co_await read_exactly(3);
    // As a proxy that has forgotten the connection: it takes everything and says nothing.
    connections_.back()->hear = [](std::string_view) {};
    connections_.back()->is_stuck = true;
    while (connections_.size() < 2) co_await pause_for(1ms);
    EXPECT_TRUE(connections_.front()->is_cut());
  });
}

TEST_F(ResumableChannelTest, IdleConnection_HasASignOfLife) {
  ResumeOptions options = quick();
  options.heartbeat = 5ms;
  std::size_t heard = 0;
  open(
      [&](const std::shared_ptr<TestConnection>& connection) {
        relay_.take(connection);
        connection->hear = [&heard, hear = connection->hear](std::string_view bytes) {
          heard += bytes.size();
          hear(bytes);
        };
      },
      options);
  run([&]() -> Task<> {
    (void)co_await channel_->write_all("x");
    while (heard < 1000) co_await pause_for(1ms);
    EXPECT_EQ(relay_.heard, "x");
    EXPECT_EQ(dials_, 1);
  });
}

TEST_F(ResumableChannelTest, FrozenSandbox_IsNotDialledAndLosesNoPatience) {
  ResumeOptions options = quick();
  options.patience = 50ms;
  options.silence = 20ms;
  open_to_relay(options);
  run([&]() -> Task<> {
    relay_.say("abc");
    (void)co_await read_exactly(3);
    channel_->set_frozen(true);
    co_await pause_for(60ms);
    EXPECT_FALSE(connections_.back()->is_cut()) << "silence is not noticed";
    connections_.back()->cut();
    co_await pause_for(100ms);
    EXPECT_EQ(dials_, 1);
    EXPECT_FALSE(channel_->has_ended());
    relay_.say("def");
    channel_->set_frozen(false);
    const auto rest = co_await read_exactly(3);
    EXPECT_EQ(rest.value(), "def");
    EXPECT_EQ(dials_, 2);
  });
}

#ifdef CLOCHE_FAULT_POINTS

class BrokenChannel : public ResumableChannelTest, public testing::WithParamInterface<const char*> {
 protected:
  ~BrokenChannel() override { (void)faults::set_faults(""); }
};

// No reader or writer waits for what cannot come.
TEST_P(BrokenChannel, LoopThatThrows_IsAnInternalErrorAtOnce) {
  open_to_relay();
  relay_.say("abc");
  run([&]() -> Task<> {
    EXPECT_TRUE(faults::set_faults(GetParam()));
    (void)co_await channel_->write_all("x");
    EXPECT_EQ(co_await read_error(), ErrorCode::internal);
    EXPECT_TRUE(connections_.back()->is_cut());
  });
}

INSTANTIATE_TEST_SUITE_P(Loops, BrokenChannel, testing::Values("channel.read=throw", "channel.write=bad_alloc"));

TEST_F(BrokenChannel, DialThatThrowsOrFailsOnce_IsTriedAgain) {
  for (const char* fault : {"channel.dial=throw", "channel.dial=fail"}) {
    relay_ = TestRelay();
    open_to_relay();
    EXPECT_TRUE(faults::set_faults(fault));
    relay_.say("abc");
    run([&]() -> Task<> {
      const auto read = co_await read_exactly(3);
      EXPECT_TRUE(read && *read == "abc");
      EXPECT_EQ(faults::passes("channel.dial"), 2u);
    });
  }
}

#endif

}  // namespace
}  // namespace cloche
