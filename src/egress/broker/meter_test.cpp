// Quotas through the meter, and a meter that throws.
#include "egress/testing/brokered.hpp"

namespace cloche::egress::testing {
namespace {

class FakeMeter final : public Meter {
 public:
  Result<std::shared_ptr<void>> admit_connection() override {
    if (throws) throw std::runtime_error("the meter is broken");
    if (open >= most_open) return fail(ErrorCode::limit_reached, "too many connections of acme");
    ++open;
    return std::shared_ptr<void>(this, [this](void*) { --open; });
  }
  Status admit_request() override {
    if (requests >= most_requests) return fail(ErrorCode::limit_reached, "too many requests of acme");
    ++requests;
    return {};
  }
  Status count_bytes(std::uint64_t up, std::uint64_t down) override {
    if (throws_at_bytes) throw std::runtime_error("the meter is broken");
    bytes += up + down;
    if (bytes > most_bytes) return fail(ErrorCode::limit_reached, "too many bytes of acme");
    return {};
  }

  int open = 0;
  int most_open = 1000;
  int requests = 0;
  int most_requests = 1000;
  std::uint64_t bytes = 0;
  std::uint64_t most_bytes = 1 << 30;
  bool throws = false;
  bool throws_at_bytes = false;
};

class EgressMeter : public Brokered, public ::testing::WithParamInterface<Between> {
 protected:
  EgressMeter() {
    sandbox_.meter = meter_;
    between_ = GetParam();
  }
  std::string request_for(const ScriptedTcpServer& server) {
    const std::string host = "server.test:" + std::to_string(server.port());
    return "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
  }
  std::string connect_to(const ScriptedTcpServer& server) {
    const std::string host = "server.test:" + std::to_string(server.port());
    return "CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
  }
  std::shared_ptr<FakeMeter> meter_ = std::make_shared<FakeMeter>();
};

TEST_P(EgressMeter, ConnectionBeyondTheQuota_Is429) {
  meter_->most_open = 1;
  run([this]() -> Task<> {
    auto& server = serve_http("x");
    const auto first = connect();
    co_await first->send(request_for(server));
    EXPECT_EQ((co_await first->answer()).status, 200u);
    EXPECT_EQ(meter_->open, 1);
    const auto refused = co_await ask(connect_to(server));
    EXPECT_EQ(refused.status, 429u);
    EXPECT_NE(refused.body.find("too many connections of acme"), std::string::npos);
    co_await event(Outcome::over_quota);
    first->close();
  });
  EXPECT_EQ(meter_->open, 0);
}

TEST_P(EgressMeter, RefusedDestination_IsNotCounted) {
  run([this]() -> Task<> {
    const auto response = co_await ask("CONNECT other.test:443 HTTP/1.1\r\nHost: other.test\r\n\r\n");
    EXPECT_EQ(response.status, 403u);
    EXPECT_EQ(meter_->open, 0);
  });
}

TEST_P(EgressMeter, RequestBeyondTheQuota_Is429AndTheNextIsServed) {
  meter_->most_requests = 1;
  run([this]() -> Task<> {
    auto& server = serve_http("x");
    const auto program = connect();
    for (const unsigned status : {200u, 429u}) {
      co_await program->send(request_for(server));
      EXPECT_EQ((co_await program->answer()).status, status);
    }
    meter_->most_requests = 2;
    co_await program->send(request_for(server));
    EXPECT_EQ((co_await program->answer()).status, 200u);
  });
}

TEST_P(EgressMeter, BytesBeyondTheQuota_EndTheTunnel) {
  meter_->most_bytes = 100;
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.send(std::string(200, 'x'));
      co_await guest.rest();
    });
    const auto program = connect();
    co_await program->send(connect_to(server));
    EXPECT_EQ((co_await program->answer_without_body()).status, 200u);
    EXPECT_LE((co_await program->rest()).size(), 100u);
    const EgressEvent over = co_await event(Outcome::over_quota);
    EXPECT_EQ(over.reason, "too many bytes of acme");
  });
}

TEST_P(EgressMeter, MeterThatThrows_EndsOneConnectionAndNothingElse) {
  run([this]() -> Task<> {
    auto& server = serve_http("x");
    meter_->throws = true;
    const auto response = co_await ask(request_for(server));
    EXPECT_EQ(response.status, 500u);
    EXPECT_EQ((co_await event(Outcome::failed)).reason, "internal error; see the server log");
    const auto socks = connect();
    co_await socks->send(std::string("\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x51", 13));
    EXPECT_EQ(co_await socks->rest(), std::string("\x05\x00", 2));
    co_await event(Outcome::failed);
    meter_->throws = false;
    meter_->throws_at_bytes = true;
    const auto tunnel = connect();
    co_await tunnel->send(connect_to(server));
    EXPECT_EQ((co_await tunnel->answer_without_body()).status, 200u);
    co_await tunnel->send("x");
    EXPECT_EQ(co_await tunnel->rest(), "");
    co_await event(Outcome::failed);
    meter_->throws_at_bytes = false;
    EXPECT_EQ((co_await ask(request_for(server))).status, 200u);
  });
}

INSTANTIATE_TEST_SUITE_P(Over, EgressMeter, ::testing::Values(Between::memory, Between::sockets),
                         [](const auto& test) { return test.param == Between::memory ? "Memory" : "Sockets"; });

}  // namespace
}  // namespace cloche::egress::testing
