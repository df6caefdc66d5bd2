#include "agent/relay/exchange.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "agent/link/descriptors.hpp"
#include "agent/relay/relay_socket.hpp"
#include "core/ids.hpp"
#include "support/eventually.hpp"
#include "support/missing.hpp"

namespace cloche::agent {
namespace {

using namespace std::chrono_literals;
using relay::HandshakeKind;
using relay::Reason;
using testing_support::eventually;

void make_nonblocking_end(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// A server's connection, with blocking calls.
class Dialler {
 public:
  explicit Dialler(UniqueFd socket) : socket_(std::move(socket)) {
    const timeval timeout{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  }

  void send(std::string_view bytes) const {
    ASSERT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  relay::Handshake greet(relay::Handshake hello) const {
    send(relay::encode(hello));
    std::array<char, relay::handshake_size> reply{};
    const ssize_t n = ::recv(socket_.get(), reply.data(), reply.size(), MSG_WAITALL);
    EXPECT_EQ(n, static_cast<ssize_t>(reply.size()));
    const auto decoded = relay::decode_handshake(reply);
    EXPECT_TRUE(decoded) << decoded.error().message;
    return decoded.value_or(relay::Handshake{});
  }
  void send_data(std::string_view bytes) const {
    std::string frame;
    relay::append_data(frame, bytes);
    send(frame);
  }
  void send_ack(std::uint64_t consumed) const {
    std::string frame;
    relay::append_ack(frame, consumed);
    send(frame);
  }
  // The next frame; its payload in `payload`. nullopt at the end of the connection.
  std::optional<relay::Frame> next() {
    for (;;) {
      const auto frame = decoder_.next();
      EXPECT_TRUE(frame) << frame.error().message;
      if (!frame) return std::nullopt;
      if (*frame) {
        payload = (*frame)->payload;
        return **frame;
      }
      const std::span<char> room = decoder_.room();
      const ssize_t n = ::recv(socket_.get(), room.data(), room.size(), 0);
      if (n <= 0) return std::nullopt;
      decoder_.fed(static_cast<std::size_t>(n));
    }
  }
  // So many bytes of data; acks are counted.
  std::string read(std::size_t size) {
    std::string bytes;
    while (bytes.size() < size) {
      const auto frame = next();
      if (!frame) break;
      if (frame->type == relay::FrameType::data) bytes += payload;
      if (frame->type == relay::FrameType::ack) acknowledged = frame->consumed;
      if (frame->type == relay::FrameType::end) break;
    }
    return bytes;
  }
  bool is_closed() {
    while (next()) {
    }
    return errno != EAGAIN;
  }

  std::string payload;
  std::uint64_t acknowledged = 0;

 private:
  UniqueFd socket_;
  relay::Decoder decoder_;
};

class ExchangeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) CLOCHE_DOES_NOT_APPLY("only uid 0 may connect to a relay");
  }
  void TearDown() override {
    if (thread_.joinable()) {
      command('s');
      thread_.join();
    }
  }

  void start(ExchangeOptions options = {}) {
    auto in = make_pipe();
    auto out = make_pipe();
    auto commands = make_pipe();
    auto listener = listen_for_dials(name_);
    ASSERT_TRUE(in && out && commands && listener);
    from_relay_ = std::move(in->first);
    to_relay_ = std::move(out->second);
    commands_ = std::move(commands->second);
    for (const int fd : {in->second.get(), out->first.get(), to_relay_.get()}) make_nonblocking_end(fd);
    thread_ = std::thread([this, options, listening = std::move(*listener), to_agent = std::move(in->second),
                           from_agent = std::move(out->first), ordered = std::move(commands->first)]() mutable {
      Loop loop;
      Exchange exchange(
          loop, std::move(listening), std::move(to_agent), std::move(from_agent), [this] { is_done_ = true; }, options);
      const auto watch = loop.watch(ordered.get(), EPOLLIN, [&](std::uint32_t) {
        char order = 0;
        (void)!::read(ordered.get(), &order, 1);
        if (order == 'e') exchange.on_agent_ended(7 << 8);
        if (order == 's') loop.stop();
      });
      loop.run();
    });
  }
  void command(char order) const { ASSERT_EQ(::write(commands_.get(), &order, 1), 1); }
  void end_agent() {
    to_relay_.reset();
    command('e');
  }

  Dialler dial() {
    auto socket = connect_to_relay(name_);
    EXPECT_TRUE(socket) << socket.error().message;
    return Dialler(socket ? std::move(*socket) : UniqueFd());
  }
  static relay::Handshake hello(HandshakeKind kind, char conversation, std::uint64_t attempt,
                                std::uint64_t consumed = 0) {
    relay::Handshake handshake{.kind = kind, .attempt = attempt, .consumed = consumed};
    handshake.conversation.fill(conversation);
    return handshake;
  }

  void agent_says(std::string_view bytes) const {
    ASSERT_EQ(::write(to_relay_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  std::string agent_hears(std::size_t size) const {
    std::string heard;
    while (heard.size() < size) {
      char bytes[64 * 1024];
      pollfd polled{from_relay_.get(), POLLIN, 0};
      if (::poll(&polled, 1, 60'000) != 1) break;
      const ssize_t n = ::read(from_relay_.get(), bytes, sizeof bytes);
      if (n <= 0) break;
      heard.append(bytes, static_cast<std::size_t>(n));
    }
    return heard;
  }

  const std::string name_ = "cloche-test-" + random_hex(8);
  UniqueFd from_relay_;
  UniqueFd to_relay_;
  UniqueFd commands_;
  std::atomic<bool> is_done_ = false;
  std::thread thread_;
};

TEST_F(ExchangeTest, Conversation_PassesBytesBothWaysAndAcknowledges) {
  start({.ack_delay = 1ms});
  auto server = dial();
  EXPECT_EQ(server.greet(hello(HandshakeKind::begin, 'a', 1)).kind, HandshakeKind::accepted);
  server.send_data("to the agent");
  EXPECT_EQ(agent_hears(12), "to the agent");
  agent_says("from the agent");
  EXPECT_EQ(server.read(14), "from the agent");
  while (server.acknowledged < 12) {
    const auto frame = server.next();
    ASSERT_TRUE(frame && frame->type == relay::FrameType::ack);
    server.acknowledged = frame->consumed;
  }
  EXPECT_EQ(server.acknowledged, 12u);
}

TEST_F(ExchangeTest, SecondListener_IsRejected) {
  start();
  EXPECT_EQ(listen_for_dials(name_).error().code, ErrorCode::already_exists);
}

TEST_F(ExchangeTest, OutputThatIsNotAcknowledged_IsSentAgain) {
  start();
  {
    auto first = dial();
    first.greet(hello(HandshakeKind::begin, 'a', 1));
    agent_says("abcdef");
    EXPECT_EQ(first.read(6), "abcdef");
  }
  auto second = dial();
  EXPECT_EQ(second.greet(hello(HandshakeKind::resume, 'a', 2, 2)).kind, HandshakeKind::accepted);
  EXPECT_EQ(second.read(4), "cdef");
}

TEST_F(ExchangeTest, InputThatTheAgentHas_IsNotAskedForAgain) {
  start({.ack_delay = 1h});
  auto first = dial();
  first.greet(hello(HandshakeKind::begin, 'a', 1));
  first.send_data("abcdef");
  EXPECT_EQ(agent_hears(6), "abcdef");
  auto second = dial();
  EXPECT_EQ(second.greet(hello(HandshakeKind::resume, 'a', 2)).consumed, 6u);
  second.send_data("ghi");
  EXPECT_EQ(agent_hears(3), "ghi");
}

TEST_F(ExchangeTest, NewestDial_Wins) {
  start();
  auto first = dial();
  first.greet(hello(HandshakeKind::begin, 'a', 1));
  auto second = dial();
  EXPECT_EQ(second.greet(hello(HandshakeKind::begin, 'a', 2)).kind, HandshakeKind::accepted);
  EXPECT_TRUE(first.is_closed());
  agent_says("x");
  EXPECT_EQ(second.read(1), "x");
}

TEST_F(ExchangeTest, HandshakeThatCannotBeAccepted_IsRefusedAndChangesNothing) {
  start();
  auto current = dial();
  current.greet(hello(HandshakeKind::begin, 'a', 5));
  agent_says("abcdef");
  EXPECT_EQ(current.read(6), "abcdef");
  current.send_ack(4);
  // The ack has arrived when what follows it has.
  current.send_data("x");
  EXPECT_EQ(agent_hears(1), "x");
  const std::pair<relay::Handshake, Reason> refused[] = {
      {hello(HandshakeKind::resume, 'b', 6), Reason::unknown},
      {hello(HandshakeKind::resume, 'a', 5, 4), Reason::stale},
      {hello(HandshakeKind::begin, 'a', 4, 4), Reason::stale},
      {hello(HandshakeKind::resume, 'a', 6, 3), Reason::out_of_range},
      {hello(HandshakeKind::resume, 'a', 6, 7), Reason::out_of_range},
      {hello(HandshakeKind::begin, 'b', 1, 1), Reason::out_of_range},
  };
  for (const auto& [handshake, reason] : refused) {
    auto other = dial();
    const auto reply = other.greet(handshake);
    EXPECT_EQ(reply.kind, HandshakeKind::refused);
    EXPECT_EQ(reply.reason, reason);
    EXPECT_TRUE(other.is_closed());
  }
  agent_says("g");
  EXPECT_EQ(current.read(1), "g");
}

TEST_F(ExchangeTest, NewConversation_EndsTheLastOneAndForgetsItsOutput) {
  start();
  auto first = dial();
  first.greet(hello(HandshakeKind::begin, 'a', 1));
  agent_says("for the first");
  EXPECT_EQ(first.read(13), "for the first");
  auto second = dial();
  const auto reply = second.greet(hello(HandshakeKind::begin, 'b', 1));
  EXPECT_EQ(reply.kind, HandshakeKind::accepted);
  EXPECT_EQ(reply.consumed, 0u);
  const auto end = first.next();
  ASSERT_TRUE(end && end->type == relay::FrameType::end);
  EXPECT_EQ(end->reason, Reason::replaced);
  agent_says("for the second");
  EXPECT_EQ(second.read(14), "for the second");
  auto late = dial();
  EXPECT_EQ(late.greet(hello(HandshakeKind::resume, 'a', 2, 13)).reason, Reason::unknown);
}

TEST_F(ExchangeTest, ProcessOfAnotherUser_IsNotHeard) {
  start();
  auto server = dial();
  server.greet(hello(HandshakeKind::begin, 'a', 1));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    const auto socket = connect_to_relay(name_);
    if (!socket) ::_exit(3);
    const std::string bytes = relay::encode(hello(HandshakeKind::begin, 'b', 1));
    (void)::send(socket->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    char reply = 0;
    ::_exit(::recv(socket->get(), &reply, 1, 0) > 0 ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  // It may notice the end as early as at its credentials.
  EXPECT_TRUE(status == 0 || WEXITSTATUS(status) == 3) << status;
  agent_says("x");
  EXPECT_EQ(server.read(1), "x");
}

TEST_F(ExchangeTest, SocketOfAnotherUser_IsNotDialled) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    const auto listener = listen_for_dials(name_);
    if (!listener) ::_exit(3);
    for (;;) ::pause();
  }
  Result<UniqueFd> socket = fail(ErrorCode::internal, "");
  const bool is_refused = eventually([&] {
    socket = connect_to_relay(name_);
    return !socket && socket.error().message.find("another user") != std::string::npos;
  });
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_refused);
  EXPECT_EQ(socket.error().code, ErrorCode::unavailable);
}

TEST_F(ExchangeTest, HandshakeThatDoesNotEnd_IsClosed) {
  start({.handshake_timeout = 20ms});
  auto silent = dial();
  auto slow = dial();
  slow.send(relay::encode(hello(HandshakeKind::begin, 'a', 1)).substr(0, 47));
  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(slow.is_closed());
}

TEST_F(ExchangeTest, ManyUnfinishedHandshakes_DoNotKeepOthersOut) {
  start({.handshake_timeout = 1h});
  std::vector<Dialler> silent;
  for (std::size_t i = 0; i < 3 * Exchange::most_visitors; ++i) silent.push_back(dial());
  auto server = dial();
  EXPECT_EQ(server.greet(hello(HandshakeKind::begin, 'a', 1)).kind, HandshakeKind::accepted);
  EXPECT_TRUE(silent.front().is_closed());
}

TEST_F(ExchangeTest, ServerThatViolatesTheProtocol_LosesThatConnectionAlone) {
  start();
  auto first = dial();
  first.greet(hello(HandshakeKind::begin, 'a', 1));
  agent_says("abc");
  first.send_ack(1000);
  EXPECT_TRUE(first.is_closed());
  auto second = dial();
  EXPECT_EQ(second.greet(hello(HandshakeKind::resume, 'a', 2)).kind, HandshakeKind::accepted);
  EXPECT_EQ(second.read(3), "abc");
  second.send("\x7f garbage");
  EXPECT_TRUE(second.is_closed());
  auto third = dial();
  third.send(std::string(relay::handshake_size, 'x'));
  EXPECT_TRUE(third.is_closed());
}

TEST_F(ExchangeTest, AgentWithoutAServer_IsStoppedAtTheWindowAndLosesNothing) {
  start();
  dial().greet(hello(HandshakeKind::begin, 'a', 1));
  std::string all;
  bool is_full = false;
  // The window and the pipe, and no more.
  while (!is_full && all.size() < 2 * relay::window) {
    const std::string part(4096, static_cast<char>('a' + all.size() / 4096 % 26));
    is_full = !eventually([&] { return ::write(to_relay_.get(), part.data(), part.size()) > 0; }, 300ms);
    if (!is_full) all += part;
  }
  EXPECT_TRUE(is_full);
  EXPECT_GE(all.size(), relay::window);
  auto server = dial();
  server.greet(hello(HandshakeKind::resume, 'a', 2));
  std::string read = server.read(relay::window);
  server.send_ack(read.size());
  read += server.read(all.size() - read.size());
  EXPECT_TRUE(read == all) << read.size() << " of " << all.size();
}

TEST_F(ExchangeTest, WindowThatIsFull_OpensWithAcks) {
  start();
  auto server = dial();
  server.greet(hello(HandshakeKind::begin, 'a', 1));
  std::string said;
  std::thread agent([&] {
    for (int i = 0; i < 5000; ++i) {
      const std::string part(1000, static_cast<char>('a' + i % 26));
      said += part;
      for (std::string_view rest = part; !rest.empty();) {
        pollfd polled{to_relay_.get(), POLLOUT, 0};
        ::poll(&polled, 1, 60'000);
        const ssize_t n = ::write(to_relay_.get(), rest.data(), rest.size());
        if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
      }
    }
  });
  std::string read;
  while (read.size() < 5'000'000) {
    const std::string part = server.read(std::min<std::size_t>(1, 5'000'000 - read.size()));
    if (part.empty()) break;
    read += part;
    server.send_ack(read.size());
  }
  agent.join();
  EXPECT_TRUE(read == said) << read.size();
}

TEST_F(ExchangeTest, AgentThatEnds_IsReportedAfterItsLastOutput) {
  start();
  auto server = dial();
  server.greet(hello(HandshakeKind::begin, 'a', 1));
  agent_says("last words");
  end_agent();
  EXPECT_EQ(server.read(10), "last words");
  const auto end = server.next();
  ASSERT_TRUE(end && end->type == relay::FrameType::end);
  EXPECT_EQ(end->reason, Reason::agent_ended);
  EXPECT_EQ(end->agent_status, 7u << 8);
  EXPECT_FALSE(is_done_);
  server.send_ack(10);
  EXPECT_TRUE(eventually([&] { return is_done_.load(); }));
}

TEST_F(ExchangeTest, AgentThatEndsDuringACut_IsReportedToTheNextDial) {
  start();
  {
    auto first = dial();
    first.greet(hello(HandshakeKind::begin, 'a', 1));
    agent_says("abc");
    EXPECT_EQ(first.read(3), "abc");
  }
  agent_says("def");
  end_agent();
  auto second = dial();
  second.greet(hello(HandshakeKind::resume, 'a', 2, 3));
  EXPECT_EQ(second.read(3), "def");
  const auto end = second.next();
  ASSERT_TRUE(end && end->type == relay::FrameType::end);
  EXPECT_EQ(end->reason, Reason::agent_ended);
}

TEST_F(ExchangeTest, AgentThatEndsUnnoticed_IsNotWaitedForWithoutEnd) {
  start({.linger = 20ms});
  agent_says("nobody reads this");  // lint-words: allow
  end_agent();
  EXPECT_TRUE(eventually([&] { return is_done_.load(); }));
}

TEST_F(ExchangeTest, IdleConnection_HasASignOfLife) {
  start({.heartbeat = 5ms});
  auto server = dial();
  server.greet(hello(HandshakeKind::begin, 'a', 1));
  for (int i = 0; i < 3; ++i) {
    const auto frame = server.next();
    ASSERT_TRUE(frame && frame->type == relay::FrameType::ack);
    EXPECT_EQ(frame->consumed, 0u);
  }
}

}  // namespace
}  // namespace cloche::agent
