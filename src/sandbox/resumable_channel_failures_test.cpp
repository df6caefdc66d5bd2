// What ends a resumable channel: refusals, lies of a relay, patience that is over, faults of our own.
#include "core/fault_point.hpp"
#include "sandbox/testing/resumable_channel_fixture.hpp"

namespace cloche {
namespace {

class LostChannel : public ResumableChannelTest {};

struct Refusal {
  relay::Reason reason;
  ErrorCode code;
};
class RefusedChannel : public LostChannel, public testing::WithParamInterface<Refusal> {};

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
class LyingRelay : public LostChannel, public testing::WithParamInterface<Lie> {
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

TEST_F(LostChannel, HandshakeThatNeverEnds_IsGivenUpAndTriedAgainUntilPatienceIsOver) {
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

TEST_F(LostChannel, DialThatAlwaysFails_IsALostSandboxWhenPatienceIsOver) {
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

TEST_F(LostChannel, ConnectionsThatEndAtOnce_AreALostSandboxWhenPatienceIsOver) {
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

TEST_F(LostChannel, DialThatKnowsTheSandboxIsGone_EndsItAtOnce) {
  open_to_relay();
  dial_error_ = Error{ErrorCode::sandbox_lost, "it was killed"};
  run([&]() -> Task<> {
    const auto read = co_await read_exactly(1);
    EXPECT_EQ(read.error().code, ErrorCode::sandbox_lost);
    EXPECT_NE(read.error().message.find("it was killed"), std::string::npos) << read.error().message;
    EXPECT_EQ(dials_, 1);
  });
}

#ifdef CLOCHE_FAULT_POINTS

class BrokenChannel : public LostChannel, public testing::WithParamInterface<const char*> {
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
