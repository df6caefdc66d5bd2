// EgressListener with listeners of this process: what an agent says then, and how connections end.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "sandbox/egress_listener.hpp"
#include "sandbox/testing/offering_agent.hpp"

namespace cloche {
namespace {

UniqueFd listen_somewhere(std::uint16_t& port) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener.get(), 512), 0);
  EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  port = ntohs(address.sin_port);
  return listener;
}

class InsideListenerTest : public AgentLinkTest {
 protected:
  void with_listener(std::function<Task<>(std::unique_ptr<EgressListener>&)> body) {
    answer_hello();
    run([this, body]() -> Task<> {
      (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
      say_to_listener(channel(), wire::EgressListening{});
      const EgressListenSpec spec;
      InsideListeners listeners;
      listeners.proxy = listen_somewhere(proxy_);
      listeners.redirected.push_back(listen_somewhere(redirected_));
      auto opened = co_await EgressListener::open(link_, spec, std::move(listeners), Deadline::after(60s));
      EXPECT_TRUE(opened) << opened.error().message;
      if (opened) co_await body(*opened);
      finished_ = true;
    });
    EXPECT_TRUE(finished_);
  }

  // A program's socket, which blocks. Invalid if nothing listens there.
  static UniqueFd connect_to(std::uint16_t port) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) socket.reset();
    return socket;
  }
  static bool is_reset(const UniqueFd& socket) {
    char byte = 0;
    return ::recv(socket.get(), &byte, 1, 0) < 0;
  }
  // What was asked of the agent when the listener was opened.
  wire::EgressRequest asked() {
    wire::FrameDecoder decoder;
    decoder.feed(channel().to_agent);
    (void)decoder.next();
    const auto frame = decoder.next().value();
    return frame ? wire::decode<wire::EgressRequest>(frame->payload).value() : wire::EgressRequest{};
  }

  std::uint16_t proxy_ = 0;
  std::uint16_t redirected_ = 0;
  bool finished_ = false;
};

TEST_F(InsideListenerTest, Connection_IsASocketOfThisProcess) {
  with_listener([this](std::unique_ptr<EgressListener>& offers) -> Task<> {
    EXPECT_TRUE(asked().names_only);
    const UniqueFd program = connect_to(proxy_);
    const auto offer = co_await offers->next(Deadline::after(60s));
    EXPECT_TRUE(offer && offer->host.empty() && offer->port == 0);
    if (!offer) co_return;
    auto taken = offers->take(offer->id).value();
    EXPECT_EQ(offers->take(offer->id).error().code, ErrorCode::not_found);
    EXPECT_NE(taken->socket(), nullptr);
    EXPECT_EQ(::send(program.get(), "hello", 5, 0), 5);
    EXPECT_EQ((co_await taken->read(Deadline::after(60s))).value(), "hello");
    (void)co_await taken->write("world", Deadline::after(60s));
    taken->finish();
    char bytes[16];
    EXPECT_EQ(::recv(program.get(), bytes, sizeof bytes, MSG_WAITALL), 5);
  });
}

TEST_F(InsideListenerTest, ConnectionThatIsRefused_IsReset) {
  with_listener([this](std::unique_ptr<EgressListener>& offers) -> Task<> {
    const UniqueFd program = connect_to(proxy_);
    const auto offer = co_await offers->next(Deadline::after(60s));
    offers->refuse(offer.value().id);
    EXPECT_TRUE(is_reset(program));
  });
}

TEST_F(InsideListenerTest, ConnectionThatWasNotRedirected_IsResetAndNotOffered) {
  with_listener([this](std::unique_ptr<EgressListener>& offers) -> Task<> {
    const UniqueFd first = connect_to(redirected_);
    const UniqueFd second = connect_to(proxy_);
    const auto offer = co_await offers->next(Deadline::after(60s));
    EXPECT_TRUE(offer && offer->host.empty());
    while (::recv(first.get(), nullptr, 0, MSG_DONTWAIT | MSG_PEEK) >= 0 || errno == EAGAIN) co_await pause_for(1ms);
    const auto none = co_await offers->next(Deadline::after(1ms));
    EXPECT_FALSE(none);
  });
}

TEST_F(InsideListenerTest, ListenerThatIsClosed_TakesEveryConnectionWithIt) {
  with_listener([this](std::unique_ptr<EgressListener>& offers) -> Task<> {
    const UniqueFd taken = connect_to(proxy_);
    const UniqueFd pending = connect_to(proxy_);
    const auto first = co_await offers->next(Deadline::after(60s));
    const auto connection = offers->take(first.value().id).value();
    (void)co_await offers->next(Deadline::after(60s));
    const UniqueFd waiting = connect_to(proxy_);
    offers.reset();
    for (const UniqueFd* each : {&taken, &pending, &waiting}) EXPECT_TRUE(is_reset(*each));
    EXPECT_FALSE(connect_to(proxy_));
    const auto read = co_await connection->read(Deadline::after(60s));
    EXPECT_TRUE(!read && read.error().code == ErrorCode::cancelled);
  });
}

TEST_F(InsideListenerTest, SandboxThatIsLost_TakesEveryConnectionWithIt) {
  with_listener([this](std::unique_ptr<EgressListener>& offers) -> Task<> {
    const UniqueFd program = connect_to(proxy_);
    const auto first = co_await offers->next(Deadline::after(60s));
    const auto connection = offers->take(first.value().id).value();
    link_.cut_off({ErrorCode::sandbox_lost, "it died"});
    const auto next = co_await offers->next(Deadline::after(60s));
    EXPECT_TRUE(!next && next.error().code == ErrorCode::sandbox_lost);
    const auto read = co_await connection->read(Deadline::after(60s));
    EXPECT_TRUE(!read && read.error().code == ErrorCode::sandbox_lost);
    EXPECT_TRUE(is_reset(program));
    EXPECT_FALSE(connect_to(proxy_));
  });
}

TEST_F(InsideListenerTest, MoreConnectionsThanAreAnswered_Wait) {
  with_listener([this](std::unique_ptr<EgressListener>& offers) -> Task<> {
    std::vector<UniqueFd> programs;
    for (std::size_t i = 0; i < wire::max_egress_offers + 8; ++i) programs.push_back(connect_to(proxy_));
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < wire::max_egress_offers; ++i) {
      const auto offer = co_await offers->next(Deadline::after(60s));
      ids.push_back(offer.value().id);
    }
    const auto none = co_await offers->next(Deadline::after(1ms));
    EXPECT_FALSE(none);
    offers->refuse(ids.front());
    const auto more = co_await offers->next(Deadline::after(60s));
    EXPECT_TRUE(more) << more.error().message;
  });
}

class UnaskedWords : public InsideListenerTest, public testing::WithParamInterface<std::string> {};

TEST_P(UnaskedWords, EndTheListenerAndResetItsConnections) {
  with_listener([this](std::unique_ptr<EgressListener>& offers) -> Task<> {
    const UniqueFd program = connect_to(proxy_);
    const auto first = co_await offers->next(Deadline::after(60s));
    const auto connection = offers->take(first.value().id).value();
    const std::string& word = GetParam();
    channel().say({.type = wire::FrameType::message, .stream = listener_stream, .payload = word});
    const auto next = co_await offers->next(Deadline::after(60s));
    EXPECT_TRUE(!next && next.error().code == ErrorCode::protocol);
    EXPECT_TRUE(is_reset(program));
    EXPECT_FALSE(connect_to(proxy_));
    EXPECT_FALSE(link_.lost());
  });
}

std::string offer_word() {
  wire::EgressOffer offer;
  offer.id = 1;
  return wire::encode(offer);
}

std::string name_word() {
  wire::EgressName name;
  name.address = wire::first_name_address + 1;
  name.host = "example.test";
  return wire::encode(name);
}

INSTANTIATE_TEST_SUITE_P(Of, UnaskedWords, testing::Values(offer_word(), name_word(), "\xff\xff"));

}  // namespace
}  // namespace cloche
