#include "relay/side.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace cloche::relay {
namespace {

std::string some_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

// One end of a conversation, with the bytes that it wants to send and those that it passed on.
struct Talker {
  Side side{200};
  std::string to_say;
  std::size_t said = 0;
  std::string heard;
  Decoder decoder;

  explicit Talker(std::string bytes) : to_say(std::move(bytes)) {}

  void connect() { decoder = Decoder(); }
  // What it sends now.
  std::string speak(std::size_t most) {
    said += side.write(std::string_view(to_say).substr(said));
    std::string bytes;
    if (side.unannounced() > 0) side.append_ack_to(bytes);
    side.append_data_to(bytes, most);
    return bytes;
  }
  void hear(std::string_view bytes) {
    while (!bytes.empty()) {
      bytes.remove_prefix(decoder.feed(bytes));
      for (;;) {
        const auto frame = decoder.next();
        ASSERT_TRUE(frame) << frame.error().message;
        if (!*frame) break;
        const auto taken = side.take(**frame);
        ASSERT_TRUE(taken) << taken.error().message;
      }
    }
  }
  void pass_on(std::size_t most) {
    const std::string_view part = side.readable().substr(0, most);
    heard += part;
    side.consume(part.size());
  }
};

void connect(Talker& server, Talker& relay) {
  server.connect();
  relay.connect();
  const std::uint64_t server_consumed = server.side.start_connection();
  const std::uint64_t relay_consumed = relay.side.start_connection();
  ASSERT_TRUE(relay.side.continue_at(server_consumed));
  ASSERT_TRUE(server.side.continue_at(relay_consumed));
}

// Lets both talk until all has arrived. `cut_after`: how many bytes of each direction a connection carries before it is
// cut, one connection after the other; those after the last are not cut.
void talk(Talker& server, Talker& relay, std::vector<std::pair<std::size_t, std::size_t>> cut_after) {
  auto cut = cut_after.begin();
  for (int connections = 0; connections < 100'000; ++connections) {
    connect(server, relay);
    std::size_t to_relay = cut == cut_after.end() ? SIZE_MAX : cut->first;
    std::size_t to_server = cut == cut_after.end() ? SIZE_MAX : cut->second;
    if (cut != cut_after.end()) ++cut;
    for (;;) {
      const std::string up = server.speak(64);
      const std::string down = relay.speak(64);
      if (up.empty() && down.empty()) break;
      relay.hear(std::string_view(up).substr(0, to_relay));
      server.hear(std::string_view(down).substr(0, to_server));
      relay.pass_on(50);
      server.pass_on(70);
      if (up.size() > to_relay || down.size() > to_server) break;
      to_relay -= up.size();
      to_server -= down.size();
    }
    const bool is_done = server.heard.size() == relay.to_say.size() && relay.heard.size() == server.to_say.size();
    if (is_done) return;
  }
  FAIL() << "the conversation makes no progress";
}

TEST(Side, CutAtEveryByteOfBothDirections_EveryByteArrivesOnceAndInOrder) {
  const std::string up = some_bytes(700, 1);
  const std::string down = some_bytes(900, 2);
  for (std::size_t at = 0; at < 1100; ++at) {
    for (const std::size_t lag : {std::size_t{0}, std::size_t{13}, SIZE_MAX / 2}) {
      for (const bool is_up : {true, false}) {
        Talker server(up);
        Talker relay(down);
        const std::pair cut = is_up ? std::pair(at, at + lag) : std::pair(at + lag, at);
        talk(server, relay, {cut, cut});
        ASSERT_TRUE(relay.heard == up) << at;
        ASSERT_TRUE(server.heard == down) << at;
      }
    }
  }
}

TEST(Side, ManyRandomCuts_EveryByteArrivesOnceAndInOrder) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::pair<std::size_t, std::size_t>> cuts;
    for (int i = 0; i < 300; ++i) cuts.emplace_back(random() % 300, random() % 300);
    Talker server(some_bytes(20'000, 1));
    Talker relay(some_bytes(20'000, 2));
    talk(server, relay, cuts);
    ASSERT_TRUE(relay.heard == server.to_say);
    ASSERT_TRUE(server.heard == relay.to_say);
  }
}

TEST(Side, WindowThatIsFull_TakesNoMoreUntilItIsAcknowledged) {
  Side server(100);
  EXPECT_EQ(server.write(std::string(150, 'x')), 100u);
  std::string sent;
  server.append_data_to(sent, 1000);
  EXPECT_EQ(server.room(), 0u);
  EXPECT_TRUE(server.take({.type = FrameType::ack, .consumed = 60}));
  EXPECT_EQ(server.room(), 60u);
  EXPECT_FALSE(server.is_acknowledged());
  EXPECT_TRUE(server.take({.type = FrameType::ack, .consumed = 100}));
  EXPECT_TRUE(server.is_acknowledged());
}

TEST(Side, AckOfWhatWasNotSentOrGoesBack_IsAnError) {
  Side server(100);
  server.write("0123456789");
  EXPECT_FALSE(server.take({.type = FrameType::ack, .consumed = 1})) << "nothing was sent yet";
  std::string sent;
  server.append_data_to(sent, 5);
  EXPECT_FALSE(server.take({.type = FrameType::ack, .consumed = 6}));
  EXPECT_TRUE(server.take({.type = FrameType::ack, .consumed = 5}));
  EXPECT_TRUE(server.take({.type = FrameType::ack, .consumed = 5})) << "a sign of life";
  EXPECT_FALSE(server.take({.type = FrameType::ack, .consumed = 4}));
}

TEST(Side, DataBeyondTheWindow_IsAnErrorAlsoIfItWasPassedOn) {
  Side server(100);
  const std::string most(100, 'x');
  EXPECT_TRUE(server.take({.type = FrameType::data, .payload = most}));
  EXPECT_FALSE(server.take({.type = FrameType::data, .payload = "y"}));
  server.consume(100);
  // The sender does not know yet.
  EXPECT_FALSE(server.take({.type = FrameType::data, .payload = "y"}));
  std::string ack;
  server.append_ack_to(ack);
  EXPECT_TRUE(server.take({.type = FrameType::data, .payload = most}));
}

TEST(Side, OffsetThatWasReleasedOrNeverSent_CannotBeContinuedAt) {
  Side relay(100);
  relay.write("0123456789");
  std::string sent;
  relay.append_data_to(sent, 8);
  EXPECT_TRUE(relay.take({.type = FrameType::ack, .consumed = 4}));
  EXPECT_FALSE(relay.can_continue_at(3));
  EXPECT_FALSE(relay.can_continue_at(9));
  EXPECT_FALSE(relay.continue_at(9));
  EXPECT_TRUE(relay.continue_at(8));
  EXPECT_TRUE(relay.continue_at(8));
  EXPECT_FALSE(relay.can_continue_at(4)) << "the other side has said that it has them";
}

TEST(Side, End_IsNotForIt) {
  Side server;
  EXPECT_FALSE(server.take({.type = FrameType::end, .reason = Reason::replaced}));
}

}  // namespace
}  // namespace cloche::relay
