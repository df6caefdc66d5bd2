// Connections that an agent offers: taken, served over the channel, refused when there are too many.
#include <gtest/gtest.h>

#include "core/async/task_group.hpp"
#include "egress/broker/broker.hpp"
#include "sandbox/egress_listener.hpp"
#include "sandbox/testing/offering_agent.hpp"

namespace cloche::egress {
namespace {

class EgressOffers : public AgentLinkTest {
 protected:
  void with_egress(BrokerOptions options, std::function<Task<>()> body) {
    answer_hello();
    run([this, options, body]() -> Task<> {
      (void)co_await link_.greet(Greeting::fresh, {}, Deadline::after(60s));
      channel().on_write = [this] { written_.notify(); };
      say(wire::EgressListening{});
      const EgressListenSpec spec;
      auto listener = co_await EgressListener::open(link_, spec, Deadline::after(60s));
      EXPECT_TRUE(listener) << listener.error().message;
      if (!listener) co_return;
      Broker broker(io_.get_executor(), options);
      SandboxEgressOptions sandbox;
      sandbox.policy.network = Network::allow_list;
      egress_ = broker.open(std::move(sandbox));
      TaskGroup offers(io_.get_executor());
      offers.spawn("offers", [this, &listener] { return egress_->run(**listener); });
      co_await body();
      co_await offers.shut_down();
      co_await egress_->close();
      EXPECT_EQ(broker.totals().open, 0u);
      egress_.reset();
      finished_ = true;
    });
    EXPECT_TRUE(finished_);
  }

  template <class Message>
  void say(const Message& message) {
    say_to_listener(channel(), message);
  }
  void offer(std::uint64_t id, std::string host = {}, std::uint32_t port = 0) {
    offer_connection(channel(), id, std::move(host), port);
  }
  void send_data(wire::StreamId stream, std::string_view bytes) {
    channel().say({.type = wire::FrameType::data, .lane = wire::lane::out, .stream = stream, .payload = bytes});
  }

  // Whether the server has sent such a frame; for data: the bytes together.
  bool was_sent(wire::FrameType type, wire::StreamId stream, std::string_view part = {}) {
    wire::FrameDecoder decoder;
    decoder.feed(channel().to_agent);
    std::string bytes;
    bool found = false;
    while (const auto frame = decoder.next().value()) {
      if (frame->type != type || frame->stream != stream) continue;
      found = true;
      bytes += frame->payload;
    }
    return found && bytes.find(part) != std::string::npos;
  }
  Task<> until_sent(wire::FrameType type, wire::StreamId stream, std::string_view part = {}) {
    while (!was_sent(type, stream, part)) co_await written_.wait();
  }

  std::shared_ptr<SandboxEgress> egress_;
  bool finished_ = false;
  Event written_{io_.get_executor()};
};

TEST_F(EgressOffers, ClientOfTheProxy_IsAnsweredOverItsStream) {
  with_egress({}, [this]() -> Task<> {
    offer(1);
    co_await until_sent(wire::FrameType::open, 2);
    send_data(2, "CONNECT other.test:443 HTTP/1.1\r\nHo");
    send_data(2, "st: other.test\r\n\r\n");
    co_await until_sent(wire::FrameType::data, 2, "no rule allows other.test:443");
    EXPECT_EQ(egress_->books().totals().denied, 1u);
  });
}

TEST_F(EgressOffers, TransparentConnectionThatIsRefused_IsReset) {
  with_egress({}, [this]() -> Task<> {
    offer(1, "other.test", 443);
    co_await until_sent(wire::FrameType::cancel, 2);
    EXPECT_FALSE(was_sent(wire::FrameType::eof, 2));
    const auto events = egress_->books().after(0);
    EXPECT_EQ(events.size(), 1u);
    EXPECT_EQ(events.front().host, "other.test");
    EXPECT_EQ(events.front().protocol, Protocol::tcp);
    // A name that no resolver may see is refused without a stream.
    offer(2, "0x7f.1", 443);
    co_await until_sent(wire::FrameType::message, listener_stream);
    EXPECT_EQ(egress_->books().totals().denied, 2u);
  });
}

TEST_F(EgressOffers, OneConnectionMoreThanAllowed_IsRefused) {
  BrokerOptions options;
  options.connections = 1;
  with_egress(options, [this]() -> Task<> {
    offer(1);
    co_await until_sent(wire::FrameType::open, 2);
    offer(2);
    co_await until_sent(wire::FrameType::message, listener_stream);
    EXPECT_EQ(egress_->books().totals().over_quota, 1u);
  });
}

TEST_F(EgressOffers, Close_EndsStreamsThatAreOpen) {
  with_egress({}, [this]() -> Task<> {
    offer(1);
    co_await until_sent(wire::FrameType::open, 2);
    co_await egress_->close();
    co_await until_sent(wire::FrameType::cancel, 2);
  });
}

}  // namespace
}  // namespace cloche::egress
