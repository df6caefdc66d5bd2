// Conversations over a resumable channel: cuts, ends, windows and silence.
#include "sandbox/testing/resumable_channel_fixture.hpp"

namespace cloche {
namespace {

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

}  // namespace
}  // namespace cloche
