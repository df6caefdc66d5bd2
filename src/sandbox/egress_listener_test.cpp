#include "sandbox/egress_listener.hpp"

#include <array>

#include "sandbox/testing/offering_agent.hpp"

namespace cloche {
namespace {

class EgressListenerTest : public AgentLinkTest {
 protected:
  // Greets the agent, opens a listener and lets `body` have it.
  void with_listener(std::function<Task<>(EgressListener&)> body) {
    answer_hello();
    run([this, body]() -> Task<> {
      (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
      say(wire::EgressListening{});
      const EgressListenSpec spec;
      auto opened = co_await EgressListener::open(link_, spec, Deadline::after(60s));
      EXPECT_TRUE(opened) << opened.error().message;
      if (opened) co_await body(**opened);
    });
  }

  template <class Message>
  void say(const Message& message) {
    say_to_listener(channel(), message);
  }
  void offer(std::uint64_t id, std::string host = {}, std::uint32_t port = 0) {
    offer_connection(channel(), id, std::move(host), port);
  }

  // What the server has sent, without the hello.
  std::vector<std::pair<wire::FrameType, std::string>> sent() {
    std::vector<std::pair<wire::FrameType, std::string>> frames;
    wire::FrameDecoder decoder;
    decoder.feed(channel().to_agent);
    while (const auto frame = decoder.next().value()) frames.emplace_back(frame->type, std::string(frame->payload));
    frames.erase(frames.begin());
    return frames;
  }
  Task<> until_sent(std::size_t frames) {
    while (sent().size() < frames) co_await pause_for(1ms);
  }

  static Task<ErrorCode> next_error(EgressListener& from) {
    const auto offered = co_await from.next(Deadline::after(60s));
    EXPECT_FALSE(offered);
    co_return offered ? ErrorCode::internal : offered.error().code;
  }
};

TEST_F(EgressListenerTest, Offers_ComeInOrderWithWhatTheProgramMeant) {
  with_listener([this](EgressListener& offers) -> Task<> {
    offer(1);
    offer(7, "example.test", 443);
    const auto first = co_await offers.next(Deadline::after(60s));
    const auto second = co_await offers.next(Deadline::after(60s));
    EXPECT_TRUE(first && first->id == 1 && first->host.empty() && first->port == 0);
    EXPECT_TRUE(second && second->id == 7 && second->host == "example.test" && second->port == 443);
  });
}

TEST_F(EgressListenerTest, OfferThatIsTaken_IsTakenOnce) {
  with_listener([this](EgressListener& offers) -> Task<> {
    offer(3);
    EXPECT_EQ(offers.take(3).error().code, ErrorCode::not_found) << "not heard of yet";
    (void)co_await offers.next(Deadline::after(60s));
    const auto taken = offers.take(3);
    EXPECT_TRUE(taken);
    EXPECT_EQ(offers.take(3).error().code, ErrorCode::not_found);
    offers.refuse(3);
    offers.refuse(99);
    co_await until_sent(2);
    const auto request = wire::decode<wire::EgressTakeRequest>(sent()[1].second);
    EXPECT_TRUE(request && request->id == 3);
    EXPECT_EQ(sent().size(), 2u) << "a refusal of what is not offered";
  });
}

TEST_F(EgressListenerTest, BytesThatComeWithAnOffer_AreTheFirstOfTheConnection) {
  with_listener([this](EgressListener& offers) -> Task<> {
    wire::EgressOffer offered;
    offered.id = 1;
    offered.first = "CONNECT";
    say(offered);
    (void)co_await offers.next(Deadline::after(60s));
    const auto taken = offers.take(1);
    EXPECT_TRUE(taken);
    channel().say({.type = wire::FrameType::data, .lane = wire::lane::out, .stream = 2, .payload = " there"});
    std::string all;
    while (all.size() < 13) {
      std::array<char, 3> into;
      const auto count = co_await (*taken)->read_into(into, Deadline::after(60s));
      EXPECT_TRUE(count && *count > 0);
      all.append(into.data(), count.value_or(13));
    }
    EXPECT_EQ(all, "CONNECT there");
  });
}

TEST_F(EgressListenerTest, TooManyBytesWithAnOffer_EndTheListener) {
  with_listener([this](EgressListener& offers) -> Task<> {
    wire::EgressOffer offered;
    offered.id = 1;
    offered.first = std::string(wire::max_egress_first, 'x');
    say(offered);
    const auto most = co_await offers.next(Deadline::after(60s));
    EXPECT_TRUE(most);
    offered.id = 2;
    offered.first += 'x';
    say(offered);
    EXPECT_EQ(co_await next_error(offers), ErrorCode::protocol);
  });
}

TEST_F(EgressListenerTest, OfferThatIsRefused_IsToldToTheAgentAndGone) {
  with_listener([this](EgressListener& offers) -> Task<> {
    offer(3);
    (void)co_await offers.next(Deadline::after(60s));
    offers.refuse(3);
    EXPECT_EQ(offers.take(3).error().code, ErrorCode::not_found);
    co_await until_sent(2);
    const auto refusal = wire::decode<wire::EgressRefuse>(sent()[1].second);
    EXPECT_TRUE(refusal && refusal->id == 3);
  });
}

TEST_F(EgressListenerTest, AgentThatDoesNotKnowATakenConnection_IsAnErrorOfThatConnectionAlone) {
  with_listener([this](EgressListener& offers) -> Task<> {
    offer(3);
    (void)co_await offers.next(Deadline::after(60s));
    auto taken = offers.take(3).value();
    wire::Closed closed;
    closed.reason = wire::CloseReason::not_found;
    closed.message = "no such connection is offered";
    const std::string payload = wire::encode(closed);
    channel().say({.type = wire::FrameType::close, .stream = 2, .payload = payload});
    const auto read = co_await taken->read(Deadline::after(60s));
    EXPECT_EQ(read.error().code, ErrorCode::not_found);
    offer(4);
    const auto next = co_await offers.next(Deadline::after(60s));
    EXPECT_TRUE(next) << next.error().message;
  });
}

TEST_F(EgressListenerTest, TimeThatPasses_ChangesNothing) {
  with_listener([this](EgressListener& offers) -> Task<> {
    const auto none = co_await offers.next(Deadline::after(1ms));
    EXPECT_EQ(none.error().code, ErrorCode::timeout);
    offer(1);
    const auto one = co_await offers.next(Deadline::after(60s));
    EXPECT_TRUE(one) << one.error().message;
  });
}

TEST_F(EgressListenerTest, DuplicateOffer_EndsTheListener) {
  with_listener([this](EgressListener& offers) -> Task<> {
    offer(5);
    offer(5);
    (void)co_await offers.next(Deadline::after(60s));
    EXPECT_EQ(co_await next_error(offers), ErrorCode::protocol);
    EXPECT_EQ(co_await next_error(offers), ErrorCode::protocol);
    EXPECT_EQ(offers.take(5).error().code, ErrorCode::not_found);
    co_await until_sent(2);
    EXPECT_EQ(sent()[1].first, wire::FrameType::cancel);
    EXPECT_FALSE(link_.lost());
  });
}

TEST_F(EgressListenerTest, IdOfAnEarlierConnection_EndsTheListener) {
  with_listener([this](EgressListener& offers) -> Task<> {
    offer(5);
    (void)co_await offers.next(Deadline::after(60s));
    auto taken = offers.take(5);
    offer(4);
    EXPECT_EQ(co_await next_error(offers), ErrorCode::protocol);
  });
}

TEST_F(EgressListenerTest, MoreOffersThanAllowed_EndTheListener) {
  with_listener([this](EgressListener& offers) -> Task<> {
    for (std::uint64_t id = 1; id <= wire::max_egress_offers + 2; ++id) offer(id);
    for (std::size_t i = 0; i < wire::max_egress_offers; ++i) {
      const auto offered = co_await offers.next(Deadline::after(60s));
      EXPECT_TRUE(offered) << offered.error().message;
    }
    EXPECT_EQ(co_await next_error(offers), ErrorCode::protocol);
  });
}

TEST_F(EgressListenerTest, FloodOfOffersThatNothingReads_CutsTheAgentOff) {
  with_listener([this](EgressListener&) -> Task<> {
    const std::string host(wire::max_egress_host, 'h');
    std::string bytes;
    for (std::uint64_t id = 1; id <= 100'000; ++id) {
      wire::EgressOffer offered;
      offered.id = id;
      offered.host = host;
      offered.port = 443;
      const std::string payload = wire::encode(offered);
      wire::append_frame(bytes, {.type = wire::FrameType::message, .stream = listener_stream, .payload = payload});
      if (bytes.size() > 100'000) channel().say(std::exchange(bytes, {}));
    }
    while (!link_.lost()) co_await pause_for(1ms);
    EXPECT_EQ(link_.lost()->code, ErrorCode::protocol);
  });
}

struct Impossible {
  std::string host;
  std::uint32_t port;
};

class ImpossibleDestination : public EgressListenerTest, public testing::WithParamInterface<Impossible> {};

TEST_P(ImpossibleDestination, EndsTheListener) {
  with_listener([this](EgressListener& offers) -> Task<> {
    offer(1, GetParam().host, GetParam().port);
    EXPECT_EQ(co_await next_error(offers), ErrorCode::protocol);
  });
}

INSTANTIATE_TEST_SUITE_P(Words, ImpossibleDestination,
                         testing::Values(Impossible{"", 443}, Impossible{"a", 0}, Impossible{"a", 65536},
                                         Impossible{std::string(256, 'a'), 443}, Impossible{"a b", 443},
                                         Impossible{"a\nb", 443}, Impossible{"caf\xc3\xa9", 443},
                                         Impossible{std::string("a\0b", 3), 443}));

TEST_F(EgressListenerTest, AgentThatSpeaksOfOtherThings_EndsTheListener) {
  with_listener([this](EgressListener& offers) -> Task<> {
    channel().say({.type = wire::FrameType::data, .lane = wire::lane::out, .stream = listener_stream, .payload = "x"});
    EXPECT_EQ(co_await next_error(offers), ErrorCode::protocol);
  });
}

TEST_F(EgressListenerTest, ListenerThatIsDestroyed_IsCancelled) {
  answer_hello();
  run([this]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    say(wire::EgressListening{});
    const EgressListenSpec spec;
    auto opened = co_await EgressListener::open(link_, spec, Deadline::after(60s));
    EXPECT_TRUE(opened);
    if (opened) opened->reset();
    co_await until_sent(2);
    EXPECT_EQ(sent()[1].first, wire::FrameType::cancel);
  });
}

TEST_F(EgressListenerTest, AgentFromBeforeEgress_IsSaidToBeTooOld) {
  answer_hello();
  run([this]() -> Task<> {
    (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
    wire::Closed closed;
    closed.reason = wire::CloseReason::unsupported;
    closed.message = "this agent does not support requests of kind 8";
    const std::string payload = wire::encode(closed);
    channel().say({.type = wire::FrameType::close, .stream = listener_stream, .payload = payload});
    const EgressListenSpec spec;
    auto opened = co_await EgressListener::open(link_, spec, Deadline::after(60s));
    EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
    EXPECT_EQ(opened.error().message, "open egress: the sandbox's agent is too old for egress");
  });
}

}  // namespace
}  // namespace cloche
