// The agent's part of egress, with a link whose server is the test.
#include "agent/egress/egress.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "agent/link/descriptors.hpp"
#include "support/missing.hpp"

namespace cloche::agent {
namespace {

struct Said {
  wire::FrameType type = wire::FrameType::padding;
  wire::StreamId stream = 0;
  std::string payload;
};

UniqueFd connected_to(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) socket.reset();
  return socket;
}

// A port of the host's loopback that is free now.
std::uint16_t free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

// What a program reads until the end; nullopt if the connection is reset.
std::optional<std::string> rest_of(const UniqueFd& socket) {
  std::string received;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(socket.get(), buffer, sizeof buffer);
    if (n < 0) return std::nullopt;
    if (n == 0) return received;
    received.append(buffer, static_cast<std::size_t>(n));
  }
}

// Allows this process as many open files as the test needs.
class ManyFiles {
 public:
  ManyFiles() {
    ::getrlimit(RLIMIT_NOFILE, &former_);
    const rlimit more{std::max(former_.rlim_cur, enough), former_.rlim_max};
    allowed_ = ::setrlimit(RLIMIT_NOFILE, &more) == 0;
  }
  ~ManyFiles() { ::setrlimit(RLIMIT_NOFILE, &former_); }
  ManyFiles(const ManyFiles&) = delete;
  ManyFiles& operator=(const ManyFiles&) = delete;
  explicit operator bool() const { return allowed_; }

 private:
  static constexpr rlim_t enough = 8192;
  rlimit former_{};
  bool allowed_ = false;
};

class EgressTest : public testing::Test {
 protected:
  EgressTest() : to_agent_(make_pipe().value()), from_agent_(make_pipe().value()), port_(free_port()) {
    agent_ = std::thread([this] { run_agent(); });
    const wire::Hello hello{.version = wire::protocol_version, .nonce = "nonce"};
    say({.type = wire::FrameType::hello, .payload = wire::encode(hello)});
    EXPECT_EQ(hear().type, wire::FrameType::ready);
  }
  ~EgressTest() override {
    open(stop_word);
    agent_.join();
  }

  void say(const wire::Frame& frame) {
    std::string bytes;
    wire::append_frame(bytes, frame);
    EXPECT_EQ(::write(to_agent_.second.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  // The next frame that is not about credit.
  Said hear() {
    for (;;) {
      while (const auto frame = decoder_.next().value()) {
        if (frame->type != wire::FrameType::credit) return {frame->type, frame->stream, std::string(frame->payload)};
      }
      char buffer[65536];
      const ssize_t n = ::read(from_agent_.first.get(), buffer, sizeof buffer);
      if (n <= 0) return {};
      decoder_.feed({buffer, static_cast<std::size_t>(n)});
    }
  }
  wire::StreamId open(std::string_view request) {
    say({.type = wire::FrameType::open, .stream = ++last_stream_, .payload = request});
    return last_stream_;
  }
  wire::StreamId open_egress(std::uint32_t port) {
    wire::EgressRequest request;
    request.proxy_port = port;
    return open(wire::encode(request));
  }
  wire::StreamId listening() {
    const auto stream = open_egress(port_);
    EXPECT_TRUE(wire::decode<wire::EgressListening>(hear().payload));
    return stream;
  }
  wire::StreamId take(std::uint64_t id) {
    wire::EgressTakeRequest request;
    request.id = id;
    return open(wire::encode(request));
  }
  void refuse(wire::StreamId stream, std::uint64_t id) {
    wire::EgressRefuse refusal;
    refusal.id = id;
    say({.type = wire::FrameType::message, .stream = stream, .payload = wire::encode(refusal)});
  }
  std::uint64_t hear_offer() {
    const auto offer = wire::decode<wire::EgressOffer>(hear().payload);
    EXPECT_TRUE(offer && offer->host.empty() && offer->port == 0);
    return offer ? offer->id : 0;
  }
  // Everything that the agent had to say before this is heard: nothing is left.
  void expect_silence() {
    say({.type = wire::FrameType::ping});
    EXPECT_EQ(hear().type, wire::FrameType::pong);
  }
  wire::CloseReason hear_close(wire::StreamId stream) {
    const Said said = hear();
    EXPECT_EQ(said.type, wire::FrameType::close);
    EXPECT_EQ(said.stream, stream);
    const auto closed = wire::decode<wire::Closed>(said.payload);
    return closed ? closed->reason : wire::CloseReason::internal;
  }

  std::uint16_t port() const { return port_; }

 private:
  static constexpr std::string_view stop_word = "\x7f";

  void run_agent() {
    Loop loop;
    Egress egress(loop);
    ServerLink link(
        loop, to_agent_.first.get(), from_agent_.second.get(),
        [&](ServerLink& on, wire::StreamId id, std::string_view request) -> Result<std::unique_ptr<Stream>> {
          if (const auto opened = wire::decode<wire::EgressRequest>(request)) return egress.open(on, id, *opened);
          if (const auto taken = wire::decode<wire::EgressTakeRequest>(request)) return egress.take(on, id, *taken);
          loop.stop();
          return fail(ErrorCode::cancelled, "stopped");
        },
        [](const wire::Hello&, wire::Ready&) {});
    loop.run();
  }

  std::pair<UniqueFd, UniqueFd> to_agent_;
  std::pair<UniqueFd, UniqueFd> from_agent_;
  std::uint16_t port_;
  wire::FrameDecoder decoder_;
  wire::StreamId last_stream_ = 0;
  std::thread agent_;
};

TEST_F(EgressTest, ConnectionThatIsNotOffered_IsNotFound) {
  listening();
  EXPECT_EQ(hear_close(take(1)), wire::CloseReason::not_found);
  const UniqueFd client = connected_to(port());
  const auto id = hear_offer();
  take(id);
  EXPECT_EQ(hear_close(take(id)), wire::CloseReason::not_found);
}

TEST_F(EgressTest, BytesOfAProgram_ComeInFramesWithinTheCredit) {
  listening();
  const UniqueFd client = connected_to(port());
  const auto stream = take(hear_offer());
  std::string sent(wire::initial_credit + 100'000, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 >> 3);
  std::thread program([&] {
    std::string_view rest = sent;
    while (!rest.empty()) rest.remove_prefix(static_cast<std::size_t>(::write(client.get(), rest.data(), rest.size())));
    ::shutdown(client.get(), SHUT_WR);
  });
  std::string received;
  while (received.size() < wire::initial_credit) {
    const Said said = hear();
    ASSERT_EQ(said.type, wire::FrameType::data);
    EXPECT_EQ(said.stream, stream);
    received += said.payload;
  }
  EXPECT_EQ(received.size(), wire::initial_credit);
  expect_silence();
  say({.type = wire::FrameType::credit,
       .lane = wire::lane::out,
       .stream = stream,
       .payload = wire::encode(wire::Credit{wire::initial_credit})});
  Said said = hear();
  for (; said.type == wire::FrameType::data; said = hear()) received += said.payload;
  EXPECT_EQ(said.type, wire::FrameType::eof);
  EXPECT_TRUE(received == sent);
  program.join();
}

TEST_F(EgressTest, FirstBytes_ComeWithTheOfferOnlyIfTheyAreAskedFor) {
  for (const bool asked : {false, true}) {
    wire::EgressRequest request;
    request.proxy_port = port();
    request.with_first = asked;
    const auto listener = open(wire::encode(request));
    EXPECT_TRUE(wire::decode<wire::EgressListening>(hear().payload));
    const UniqueFd client = connected_to(port());
    EXPECT_EQ(::send(client.get(), "hello", 5, 0), 5);
    const auto offer = wire::decode<wire::EgressOffer>(hear().payload);
    ASSERT_TRUE(offer);
    if (!asked) {
      EXPECT_EQ(offer->first, "");
    }
    EXPECT_EQ(::send(client.get(), " again", 6, 0), 6);
    ::shutdown(client.get(), SHUT_WR);
    const auto stream = take(offer->id);
    std::string all = offer->first;
    for (Said said = hear(); said.type == wire::FrameType::data; said = hear()) all += said.payload;
    EXPECT_EQ(all, "hello again");
    say({.type = wire::FrameType::cancel, .stream = stream});
    hear_close(stream);
    say({.type = wire::FrameType::cancel, .stream = listener});
    EXPECT_EQ(hear_close(listener), wire::CloseReason::none);
  }
}

TEST_F(EgressTest, NamesOnly_LeavesThePortAndSaysNames) {
  wire::EgressRequest request;
  request.proxy_port = port();
  request.names_only = true;
  const auto stream = open(wire::encode(request));
  EXPECT_TRUE(wire::decode<wire::EgressListening>(hear().payload));
  EXPECT_FALSE(connected_to(port()));
  wire::EgressAsk question;
  question.address = wire::first_name_address + 1;
  say({.type = wire::FrameType::message, .stream = stream, .payload = wire::encode(question)});
  const auto answer = wire::decode<wire::EgressName>(hear().payload);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->address, question.address);
  EXPECT_EQ(answer->host, "") << "no program asked for a name";
  EXPECT_EQ(hear_close(open_egress(port())), wire::CloseReason::already_exists);
}

TEST_F(EgressTest, PortThatCannotBe_IsInvalid) {
  EXPECT_EQ(hear_close(open_egress(0)), wire::CloseReason::invalid_argument);
  EXPECT_EQ(hear_close(open_egress(65536)), wire::CloseReason::invalid_argument);
  listening();
}

TEST_F(EgressTest, SecondListener_IsRejectedAndTheFirstStays) {
  listening();
  EXPECT_EQ(hear_close(open_egress(free_port())), wire::CloseReason::already_exists);
  const UniqueFd client = connected_to(port());
  EXPECT_GT(hear_offer(), 0u);
}

TEST_F(EgressTest, ListenerThatIsCancelled_ResetsAllAndCanBeOpenedAgain) {
  const auto stream = listening();
  const UniqueFd pending = connected_to(port());
  const auto pending_id = hear_offer();
  const UniqueFd taken = connected_to(port());
  const auto connection = take(hear_offer());
  say({.type = wire::FrameType::cancel, .stream = stream});
  EXPECT_EQ(hear_close(connection), wire::CloseReason::cancelled);
  EXPECT_EQ(hear_close(stream), wire::CloseReason::none);
  EXPECT_EQ(rest_of(pending), std::nullopt);
  EXPECT_EQ(rest_of(taken), std::nullopt);
  EXPECT_FALSE(connected_to(port()));
  listening();
  const UniqueFd next = connected_to(port());
  EXPECT_GT(hear_offer(), pending_id + 1) << "an id is never used twice";
}

TEST_F(EgressTest, HelloOfAnotherServer_EndsEgress) {
  listening();
  const UniqueFd taken = connected_to(port());
  take(hear_offer());
  const wire::Hello hello{.version = wire::protocol_version, .nonce = "another"};
  say({.type = wire::FrameType::hello, .payload = wire::encode(hello)});
  while (hear().type != wire::FrameType::ready) {
  }
  EXPECT_EQ(rest_of(taken), std::nullopt);
  EXPECT_FALSE(connected_to(port()));
}

TEST_F(EgressTest, ConnectionThatIsGivenUpAfterItsEnd_IsReadToTheEnd) {
  listening();
  const UniqueFd client = connected_to(port());
  const auto connection = take(hear_offer());
  const std::string bytes(50'000, 'b');
  say({.type = wire::FrameType::data, .lane = wire::lane::in, .stream = connection, .payload = bytes});
  say({.type = wire::FrameType::eof, .lane = wire::lane::in, .stream = connection});
  say({.type = wire::FrameType::cancel, .stream = connection});
  expect_silence();
  EXPECT_EQ(rest_of(client), bytes);
}

// The kernel still has most of it when both sides have ended.
TEST_F(EgressTest, ConnectionThatBothSidesHaveEnded_IsReadToTheEnd) {
  listening();
  const UniqueFd client = connected_to(port());
  const auto connection = take(hear_offer());
  ::shutdown(client.get(), SHUT_WR);
  EXPECT_EQ(hear().type, wire::FrameType::eof);
  std::string all;
  for (char c = 'a'; c < 'e'; ++c) {
    const std::string bytes(50'000, c);
    say({.type = wire::FrameType::data, .lane = wire::lane::in, .stream = connection, .payload = bytes});
    all += bytes;
  }
  say({.type = wire::FrameType::eof, .lane = wire::lane::in, .stream = connection});
  EXPECT_EQ(hear_close(connection), wire::CloseReason::none);
  expect_silence();
  EXPECT_EQ(rest_of(client), all);
}

TEST_F(EgressTest, ConnectionThatIsGivenUpBeforeItsEnd_IsReset) {
  listening();
  const UniqueFd client = connected_to(port());
  const auto connection = take(hear_offer());
  say({.type = wire::FrameType::cancel, .stream = connection});
  EXPECT_EQ(hear_close(connection), wire::CloseReason::none);
  EXPECT_EQ(rest_of(client), std::nullopt);
}

TEST_F(EgressTest, OffersThatAreNotAnswered_AreLimited) {
  const auto stream = listening();
  std::vector<UniqueFd> clients;
  for (std::size_t i = 0; i < wire::max_egress_offers + 2; ++i) clients.push_back(connected_to(port()));
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < wire::max_egress_offers; ++i) last = hear_offer();
  expect_silence();
  refuse(stream, last);
  hear_offer();
  expect_silence();
  take(last - 1);
  hear_offer();
  refuse(stream, 1'000'000);
  expect_silence();
}

TEST_F(EgressTest, Connections_AreLimited) {
  const ManyFiles allowed;
  if (!allowed) CLOCHE_CANNOT_TEST("open files", "fewer than 8192 are allowed");
  listening();
  std::vector<UniqueFd> clients;
  wire::StreamId first = 0;
  for (std::size_t i = 0; i < wire::max_egress_connections; ++i) {
    clients.push_back(connected_to(port()));
    const auto taken = take(hear_offer());
    if (first == 0) first = taken;
  }
  clients.push_back(connected_to(port()));
  expect_silence();
  say({.type = wire::FrameType::cancel, .stream = first});
  EXPECT_EQ(hear_close(first), wire::CloseReason::none);
  hear_offer();
}

}  // namespace
}  // namespace cloche::agent
