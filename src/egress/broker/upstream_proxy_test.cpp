// Connections through a proxy of the operator, and proxies that misbehave.
#include "egress/broker/upstream_proxy.hpp"

#include "core/base64.hpp"
#include "egress/testing/brokered.hpp"

namespace cloche::egress::testing {
namespace {

TEST(UpstreamProxyUrl, ValidOnes_AreRead) {
  const auto plain = parse_upstream_proxy("http://proxy.test:8080/");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->host, "proxy.test");
  EXPECT_EQ(plain->port, 8080);
  EXPECT_EQ(plain->credentials, "");
  const auto full = parse_upstream_proxy("HTTP://me:p%40ss:w@[2001:db8::1]");
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->host, "2001:db8::1");
  EXPECT_EQ(full->port, 3128);
  EXPECT_EQ(full->credentials, "me:p@ss:w");
}

TEST(UpstreamProxyUrl, InvalidOnes_AreRejectedWithoutThePassword) {
  for (const char* url : {"proxy.test:8080", "https://proxy.test", "http://", "http://me@proxy.test",
                          "http://me:hunter2@proxy.test:0", "http://me:hunter2@bad host", "http://me:hunter2%0a@a.test",
                          "http://me:hunter2%4@a.test", "http://proxy.test:http", "http://proxy.test/path"}) {
    const auto proxy = parse_upstream_proxy(url);
    EXPECT_FALSE(proxy) << url;
    if (!proxy) {
      EXPECT_EQ(proxy.error().message.find("hunter2"), std::string::npos) << proxy.error().message;
    }
  }
}

class EgressUpstream : public Brokered {
 protected:
  EgressUpstream() { sandbox_.policy = allow({"*:1-65535", "127.0.0.0/8:1-65535"}); }

  void use_proxy(const ScriptedTcpServer& proxy, std::string credentials = "") {
    options_.upstream = UpstreamProxy{.host = "127.0.0.1", .port = proxy.port(), .credentials = std::move(credentials)};
  }
  Task<http::Response> connect_by(std::string authority) {
    co_return co_await ask("CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n");
  }
};

TEST_F(EgressUpstream, NamesAreGivenToTheProxy_WithCredentials) {
  std::string head;
  auto& proxy = serve([&head](Guest& guest) -> Task<> {
    head = co_await guest.receive_until("\r\n\r\n");
    co_await guest.send("HTTP/1.1 200 Connection established\r\nX: y\r\n\r\nfirst");
    const std::string bytes = co_await guest.receive();
    co_await guest.send("echo " + bytes);
  });
  use_proxy(proxy, "me:secret");
  run([&]() -> Task<> {
    const auto program = connect();
    co_await program->send("CONNECT Only.Proxy.Knows:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ((co_await program->answer_without_body()).status, 200u);
    EXPECT_EQ(co_await program->receive_exactly(5), "first");
    co_await program->send("hi");
    EXPECT_EQ(co_await program->receive_exactly(7), "echo hi");
    EXPECT_EQ(head,
              "CONNECT only.proxy.knows:443 HTTP/1.1\r\nHost: only.proxy.knows:443\r\nProxy-Authorization: Basic " +
                  encode_base64("me:secret") + "\r\n\r\n");
  });
}

TEST_F(EgressUpstream, PlainRequests_GoThroughATunnelToo) {
  std::vector<std::string> heads;
  auto& proxy = serve([&heads](Guest& guest) -> Task<> {
    heads.push_back(co_await guest.receive_until("\r\n\r\n"));
    co_await guest.send("HTTP/1.1 200 OK\r\n\r\n");
    heads.push_back(co_await guest.receive_until("\r\n\r\n"));
    co_await guest.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  use_proxy(proxy);
  run([&]() -> Task<> {
    const auto response = co_await ask("GET http://far.test/x HTTP/1.1\r\nHost: far.test\r\n\r\n");
    EXPECT_EQ(response.body, "ok");
    EXPECT_EQ(heads.front(), "CONNECT far.test:80 HTTP/1.1\r\nHost: far.test:80\r\n\r\n");
    EXPECT_EQ(heads.back(), "GET /x HTTP/1.1\r\nHost: far.test\r\n\r\n");
  });
}

TEST_F(EgressUpstream, RequestRules_HoldWhereTheNameIsNotResolved) {
  sandbox_.policy = allow({"far.test"});
  sandbox_.policy.allow[0].methods = {"POST"};
  auto& proxy = serve([](Guest& guest) -> Task<> { co_await guest.rest(); });
  use_proxy(proxy);
  run([&]() -> Task<> {
    const auto response = co_await ask("GET http://far.test/x HTTP/1.1\r\nHost: far.test\r\n\r\n");
    EXPECT_EQ(response.status, 403u);
    EXPECT_EQ(proxy.connections(), 0);
  });
}

TEST_F(EgressUpstream, ReservedAddresses_AreNotAskedFor) {
  sandbox_.policy = allow({"*:1-65535"});
  auto& proxy = serve([](Guest& guest) -> Task<> { co_await guest.rest(); });
  use_proxy(proxy);
  resolver_->answer("mixed.test", {"8.8.8.8", "10.0.0.1"});
  run([&]() -> Task<> {
    for (const std::string host : {"169.254.169.254", "127.0.0.1", "[::1]", "server.test", "mixed.test"}) {
      const auto response = co_await connect_by(host + ":443");
      EXPECT_EQ(response.status, 403u) << host;
    }
    EXPECT_EQ(proxy.connections(), 0);
  });
}

TEST_F(EgressUpstream, ProxyThatRefuses_Is502) {
  std::string answer;
  auto& proxy = serve([&answer](Guest& guest) -> Task<> {
    co_await guest.receive_until("\r\n\r\n");
    co_await guest.send(answer);
    guest.end_writing();
    co_await guest.rest();
  });
  use_proxy(proxy);
  run([&]() -> Task<> {
    struct Case {
      std::string answer;
      std::string said;
    };
    const std::vector<Case> cases{
        {"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "requires credentials"},
        {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "status 403"},
        {"HTTP/1.1 101 Switching\r\n\r\n", "status 101"},
        {"\x05\x00 this is not HTTP", "upstream proxy"},
        {"", "closed the connection"},
        {"HTTP/1.1 200 OK\r\nX: " + std::string(1 << 20, 'x'), "upstream proxy"},
    };
    for (const Case& each : cases) {
      answer = each.answer;
      const auto response = co_await connect_by("far.test:443");
      EXPECT_EQ(response.status, 502u) << each.said;
      EXPECT_NE(response.body.find(each.said), std::string::npos) << response.body;
    }
  });
}

TEST_F(EgressUpstream, SilentProxy_Is504) {
  options_.connect = std::chrono::milliseconds(100);
  auto& proxy = serve([](Guest& guest) -> Task<> { co_await guest.rest(); });
  use_proxy(proxy);
  run([&]() -> Task<> {
    const auto response = co_await connect_by("far.test:443");
    EXPECT_EQ(response.status, 504u);
  });
}

}  // namespace
}  // namespace cloche::egress::testing
