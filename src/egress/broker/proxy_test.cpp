// Requests for http:// URLs through the proxy: decisions, forwarding, and requests that are meant to be misread.
#include "core/async/event.hpp"
#include "egress/testing/brokered.hpp"
#include "http/server/forwarding.hpp"

namespace cloche::egress::testing {
namespace {

class EgressProxy : public Brokered {
 protected:
  static std::string get(const std::string& url, const std::string& host, const std::string& more = "") {
    return "GET " + url + " HTTP/1.1\r\nHost: " + host + "\r\n" + more + "\r\n";
  }
  static std::string get_from(const std::string& host, const std::string& port) {
    std::string authority = host;
    authority.append(":").append(port);
    return get("http://" + authority + "/", authority);
  }
  std::string place(const ScriptedTcpServer& server) const { return "server.test:" + std::to_string(server.port()); }
};

TEST_F(EgressProxy, AllowedRequest_IsForwardedAndInTheBooks) {
  run([this]() -> Task<> {
    auto& server = serve_http("hello");
    const std::string host = place(server);
    const auto response = co_await ask(get("http://" + host + "/a/b?key=1", host, "X-Mine: yes\r\n"));
    EXPECT_EQ(response.status, 200u);
    EXPECT_EQ(response.body, "hello");
    EXPECT_EQ(heads_.front(), "GET /a/b?key=1 HTTP/1.1\r\nHost: " + host + "\r\nX-Mine: yes\r\n\r\n");
    const EgressEvent allowed = co_await event(Outcome::allowed);
    EXPECT_EQ(allowed.protocol, Protocol::http);
    EXPECT_EQ(allowed.tenant, "acme");
    EXPECT_EQ(allowed.where, "session/1");
    EXPECT_EQ(allowed.host, "server.test");
    EXPECT_EQ(allowed.port, server.port());
    EXPECT_EQ(allowed.address->text(), "127.0.0.1");
    EXPECT_EQ(allowed.method, "GET");
    EXPECT_EQ(allowed.path, "/a/b");
    EXPECT_EQ(allowed.rule, "server.test:1-65535");
    const EgressEvent closed = co_await event(Outcome::closed);
    EXPECT_EQ(closed.id, allowed.id);
    EXPECT_EQ(closed.status, 200u);
    EXPECT_EQ(closed.bytes_up, heads_.front().size());
    EXPECT_GT(closed.bytes_down, 5u);
    EXPECT_EQ(broker_->totals().requests, 1u);
    EXPECT_EQ(broker_->totals().bytes_up, closed.bytes_up);
  });
}

TEST_F(EgressProxy, KeptConnection_ServesManyRequestsOverOneToTheServer) {
  run([this]() -> Task<> {
    auto& server = serve_http("again");
    const std::string host = place(server);
    const auto program = connect();
    for (int i = 0; i < 5; ++i) {
      co_await program->send(get("http://" + host + "/", host));
      const auto response = co_await program->answer();
      EXPECT_EQ(response.body, "again");
    }
    EXPECT_EQ(server.connections(), 1);
  });
}

TEST_F(EgressProxy, KeptConnectionThatTheServerClosed_IsReplaced) {
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.receive_until("\r\n\r\n");
      co_await guest.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      co_await guest.receive_until("\r\n\r\n");
      guest.reset();
    });
    const std::string host = place(server);
    const auto program = connect();
    for (int i = 0; i < 3; ++i) {
      co_await program->send(get("http://" + host + "/", host));
      const auto response = co_await program->answer();
      EXPECT_EQ(response.status, 200u) << i;
    }
  });
}

TEST_F(EgressProxy, Body_IsForwardedAsItCame) {
  run([this]() -> Task<> {
    std::string received;
    auto& server = serve([&received](Guest& guest) -> Task<> {
      received = co_await guest.receive_until("0\r\n\r\n");
      co_await guest.send("HTTP/1.1 204 No Content\r\n\r\n");
    });
    const std::string host = place(server);
    const auto response =
        co_await ask("POST http://" + host + "/in HTTP/1.1\r\nHost: " + host +
                     "\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    EXPECT_EQ(response.status, 204u);
    EXPECT_NE(received.find("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), std::string::npos)
        << received;
    EXPECT_EQ(received.find("Expect"), std::string::npos);
  });
}

TEST_F(EgressProxy, FieldsOfOneConnection_AreNotForwarded) {
  run([this]() -> Task<> {
    auto& server = serve_http("x");
    const std::string host = place(server);
    co_await ask(get("http://" + host + "/", host,
                     "Connection: X-Hop, close\r\nX-Hop: 1\r\nProxy-Authorization: Basic x\r\nProxy-Connection: "
                     "keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nKeep-Alive: 5\r\n"));
    EXPECT_EQ(heads_.front(), "GET / HTTP/1.1\r\nHost: " + host + "\r\nHTTP2-Settings: x\r\n\r\n");
  });
}

TEST_F(EgressProxy, FieldsOfTheServer_AreKept) {
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.receive_until("\r\n\r\n");
      co_await guest.send(
          "HTTP/1.1 404 Not Found\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-Request-Id: theirs\r\nSet-Cookie: "
          "a=1\r\nSet-Cookie: b=2\r\nKeep-Alive: timeout=5\r\nContent-Length: 4\r\n\r\ngone");
    });
    const std::string host = place(server);
    const auto response = co_await ask(get("http://" + host + "/", host));
    EXPECT_EQ(response.status, 404u);
    EXPECT_EQ(response.field("Date"), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(response.field("X-Request-Id"), "theirs");
    EXPECT_EQ(response.field("Keep-Alive"), "");
    EXPECT_EQ(std::ranges::count_if(response.fields, [](const auto& f) { return f.first == "Set-Cookie"; }), 2);
    EXPECT_EQ(response.body, "gone");
  });
}

TEST_F(EgressProxy, Head_HasTheLengthThatTheServerAnnounced) {
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.receive_until("\r\n\r\n");
      co_await guest.send("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n");
      co_await guest.rest();
    });
    const std::string host = place(server);
    const auto program = connect();
    co_await program->send("HEAD http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    const auto response = co_await program->answer_without_body();
    EXPECT_EQ(response.status, 200u);
    EXPECT_EQ(response.field("Content-Length"), "1234");
  });
}

TEST_F(EgressProxy, WebSocket_IsSwitchedToAndRelayed) {
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      const std::string head = co_await guest.receive_until("\r\n\r\n");
      EXPECT_NE(head.find("Upgrade: websocket\r\n"), std::string::npos);
      co_await guest.send(
          "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "
          "x\r\n\r\nfirst");
      const std::string bytes = co_await guest.receive();
      co_await guest.send("echo " + bytes);
    });
    const std::string host = place(server);
    const auto program = connect();
    co_await program->send(get("http://" + host + "/", host, "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    const auto response = co_await program->answer_without_body();
    EXPECT_EQ(response.status, 101u);
    EXPECT_EQ(response.field("Sec-WebSocket-Accept"), "x");
    EXPECT_EQ(co_await program->receive_exactly(5), "first");
    co_await program->send("ping");
    EXPECT_EQ(co_await program->receive_exactly(9), "echo ping");
  });
}

TEST_F(EgressProxy, EveryRequestOfAConnection_IsDecided) {
  sandbox_.policy.allow.clear();
  Rule only_get = rule("server.test:1-65535");
  only_get.methods = {"GET"};
  only_get.paths = {"/open"};
  sandbox_.policy.allow = {only_get, rule("127.0.0.0/8:1-65535")};
  run([this]() -> Task<> {
    auto& server = serve_http("x");
    const std::string host = place(server);
    const auto program = connect();
    const std::string url = "http://" + host;
    struct Case {
      std::string request;
      unsigned status;
    };
    const std::vector<Case> cases{
        {get(url + "/open/1", host), 200},
        {get(url + "/closed", host), 403},
        {"POST " + url + "/open HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 0\r\n\r\n", 403},
        {get(url + "/open/../closed", host), 403},
        {get(url + "/open/%2e%2e/closed", host), 403},
        {get(url + "//open", host), 403},
        {get(url + "/open?x=/closed", host), 200},
    };
    for (const Case& each : cases) {
      co_await program->send(each.request);
      const auto response = co_await program->answer();
      EXPECT_EQ(response.status, each.status) << each.request;
    }
    EXPECT_EQ(heads_.size(), 2u);
  });
}

TEST_F(EgressProxy, HostsThatNoRuleAllows_AreRefused) {
  run([this]() -> Task<> {
    resolver_->answer("other.test", {"127.0.0.1"});
    for (const std::string host : {"other.test", "sub.server.test", "test", "server.test.evil.test", "1.1.1.1"}) {
      const auto response = co_await ask(get("http://" + host + "/", host));
      EXPECT_EQ(response.status, 403u) << host;
      EXPECT_NE(response.body.find("egress denied: no rule allows " + host + ":80"), std::string::npos)
          << response.body;
    }
    EXPECT_TRUE(resolver_->asked.empty()) << "a name that is not allowed must not be asked for";
    EXPECT_EQ(broker_->totals().denied, 5u);
  });
}

TEST_F(EgressProxy, NamesInOddForms_AreTheSameName) {
  run([this]() -> Task<> {
    auto& server = serve_http("x");
    const std::string port = std::to_string(server.port());
    for (const std::string host : {"SERVER.TEST", "server.test.", "Server.Test."}) {
      const auto response = co_await ask(get_from(host, port));
      EXPECT_EQ(response.status, 200u) << host;
    }
    for (const std::string& asked : resolver_->asked) EXPECT_EQ(asked, "server.test");
  });
}

TEST_F(EgressProxy, PunycodeName_IsNotTheNameThatItLooksLike) {
  run([this]() -> Task<> {
    const auto response = co_await ask(get("http://xn--srver-6qa.test/", "xn--srver-6qa.test"));
    EXPECT_EQ(response.status, 403u);
    const auto raw = co_await ask(get("http://s\xc3\xa9rver.test/", "s\xc3\xa9rver.test"));
    EXPECT_EQ(raw.status, 400u);
  });
}

TEST_F(EgressProxy, AddressesInOtherNotations_AreInvalid) {
  sandbox_.policy.network = Network::internet;
  sandbox_.policy.allow.clear();
  run([this]() -> Task<> {
    for (const std::string host : {"0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "127.1", "017700000001",
                                   "127.0.0.1.", "127.0.0.01", "/run/cloche.sock", "unix:", "a..b", "-a.test"}) {
      const auto response = co_await ask(get("http://" + host + "/", host));
      EXPECT_EQ(response.status == 400 || response.status == 403, true) << host << " " << response.status;
    }
    EXPECT_TRUE(resolver_->asked.empty());
  });
}

TEST_F(EgressProxy, ReservedAddresses_AreRefusedInTheInternet) {
  sandbox_.policy.network = Network::internet;
  sandbox_.policy.allow.clear();
  run([this]() -> Task<> {
    auto& server = serve_http("secret");
    const std::string port = std::to_string(server.port());
    for (const std::string host :
         {"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "10.0.0.1", "169.254.169.254", "192.168.1.1",
          "[fe80::1]", "[fd00::1]", "0.0.0.0", "[::]", "224.0.0.1", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"}) {
      const auto response = co_await ask(get_from(host, port));
      EXPECT_EQ(response.status, 403u) << host;
    }
    resolver_->answer("inside.test", {"127.0.0.1"});
    resolver_->answer("mapped.test", {"::ffff:127.0.0.1"});
    for (const std::string host : {"inside.test", "mapped.test", "server.test"}) {
      const auto response = co_await ask(get_from(host, port));
      EXPECT_EQ(response.status, 403u) << host;
      EXPECT_NE(response.body.find("127.0.0.1"), std::string::npos) << response.body;
    }
    EXPECT_EQ(server.connections(), 0);
  });
}

TEST_F(EgressProxy, NameThatIsReboundBetweenRequests_IsDecidedAgain) {
  sandbox_.policy = allow({"rebind.test:1-65535", "127.0.0.1:1-65535"});
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.receive_until("\r\n\r\n");
      co_await guest.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    });
    resolver_->answer("rebind.test", {"127.0.0.1"});
    resolver_->answer("rebind.test", {"127.0.0.2"});
    const std::string host = "rebind.test:" + std::to_string(server.port());
    const auto first = co_await ask(get("http://" + host + "/", host));
    EXPECT_EQ(first.status, 200u);
    const auto second = co_await ask(get("http://" + host + "/", host));
    EXPECT_EQ(second.status, 403u);
    EXPECT_EQ(server.connections(), 1);
  });
}

TEST_F(EgressProxy, AddressThatWasDecided_IsTheOneThatIsConnectedTo) {
  // A resolver that is asked a second time would say 127.0.0.2, where nothing is allowed.
  sandbox_.policy = allow({"rebind.test:1-65535", "127.0.0.1:1-65535"});
  run([this]() -> Task<> {
    auto& server = serve_http("right");
    resolver_->answer("rebind.test", {"10.0.0.1", "127.0.0.1"});
    resolver_->answer("rebind.test", {"127.0.0.2"});
    const std::string host = "rebind.test:" + std::to_string(server.port());
    const auto response = co_await ask(get("http://" + host + "/", host));
    EXPECT_EQ(response.body, "right");
    EXPECT_EQ(resolver_->asked.size(), 1u);
    EXPECT_EQ((co_await event(Outcome::allowed)).address->text(), "127.0.0.1");
  });
}

TEST_F(EgressProxy, RedirectToAPrivateAddress_IsPassedOnAndRefusedWhenFollowed) {
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.receive_until("\r\n\r\n");
      co_await guest.send("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n");
    });
    const std::string host = place(server);
    const auto response = co_await ask(get("http://" + host + "/", host));
    EXPECT_EQ(response.status, 302u);
    EXPECT_EQ(response.field("Location"), "http://169.254.169.254/latest");
    const auto followed = co_await ask(get("http://169.254.169.254/latest", "169.254.169.254"));
    EXPECT_EQ(followed.status, 403u);
  });
}

TEST_F(EgressProxy, HostThatDiffersFromTheUrl_IsRefused) {
  run([this]() -> Task<> {
    auto& server = serve_http("x");
    const std::string host = place(server);
    const auto response = co_await ask(get("http://" + host + "/", "other.test"));
    EXPECT_EQ(response.status, 400u);
    const auto other_port = co_await ask(get("http://" + host + "/", "server.test"));
    EXPECT_EQ(other_port.status, 400u);
    const auto without = co_await ask("GET http://" + host + "/ HTTP/1.0\r\n\r\n");
    EXPECT_EQ(without.status, 200u);
    EXPECT_EQ(heads_.size(), 1u);
  });
}

TEST_F(EgressProxy, RequestsThatCanBeReadInTwoWays_AreRefused) {
  run([this]() -> Task<> {
    auto& server = serve_http("x");
    const std::string host = place(server);
    const std::string begin = "POST http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n";
    const std::vector<std::string> requests{
        begin + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET",
        begin + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
        begin + "Content-Length: +4\r\n\r\nabcd",
        begin + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        begin + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        begin + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        begin + "X-Fold: a\r\n b\r\n\r\n",
        begin + "Host: " + host + "\r\n\r\n",
        begin + "X: a\nEvil: b\r\n\r\n",
        begin + std::string("X: a\0b\r\n\r\n", 10),
        "POST http://user@" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
        "GET http://" + host + "/ HTTP/1.1\r\n\r\n",
        "GET http://" + host + "/#x HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
        "GET https://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
        "GET ftp://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
        "GET http://" + host + "\\@other.test/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n",
    };
    for (const std::string& request : requests) {
      const auto response = co_await ask(request);
      EXPECT_EQ(response.status, 400u) << request;
    }
    EXPECT_TRUE(heads_.empty());
  });
}

TEST_F(EgressProxy, ChunkedBodyThatBreaksOff_IsNotForwardedAsComplete) {
  std::optional<std::string> received;
  run([this, &received]() -> Task<> {
    auto& server = serve([&received](Guest& guest) -> Task<> { received = co_await guest.rest(); });
    const std::string host = place(server);
    const auto response = co_await ask("POST http://" + host + "/ HTTP/1.1\r\nHost: " + host +
                                       "\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n");
    EXPECT_EQ(response.status, 400u);
    while (!received) co_await pause_for(std::chrono::milliseconds(1));
    EXPECT_EQ(received->find("0\r\n\r\n"), std::string::npos);
  });
}

TEST_F(EgressProxy, OriginForm_IsAnsweredWithAHint) {
  run([this]() -> Task<> {
    const auto response = co_await ask(get("/", "127.0.0.1:3128"));
    EXPECT_EQ(response.status, 400u);
    EXPECT_NE(response.body.find("HTTP_PROXY"), std::string::npos);
  });
}

TEST_F(EgressProxy, GarbageFromTheServer_Is502) {
  run([this]() -> Task<> {
    std::vector<std::string> garbage{"\x16\x03\x01 not http at all\r\n\r\n", "",
                                     "HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n"};
    for (const char* status : {"000", "001", "099", "100", "101", "199", "600", "999"}) {
      garbage.push_back("HTTP/1.1 " + std::string(status) + " x\r\n\r\n");
    }
    for (const std::string& bytes : garbage) {
      auto& server = serve([bytes](Guest& guest) -> Task<> {
        co_await guest.receive_until("\r\n\r\n");
        co_await guest.send(bytes);
        guest.end_writing();
        co_await guest.rest();
      });
      const std::string host = place(server);
      const auto response = co_await ask(get("http://" + host + "/", host));
      EXPECT_EQ(response.status, 502u) << bytes;
    }
    EXPECT_EQ(broker_->totals().failed, garbage.size());
  });
}

TEST_F(EgressProxy, ResponseThatBreaksOff_BreaksOffForTheProgramToo) {
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.receive_until("\r\n\r\n");
      co_await guest.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
      guest.end_writing();
      co_await guest.rest();
    });
    const std::string host = place(server);
    const auto response = co_await ask(get("http://" + host + "/", host));
    EXPECT_EQ(response.status, 0u);
    EXPECT_EQ((co_await event(Outcome::failed)).status, 200u);
  });
}

TEST_F(EgressProxy, EndlessResponse_IsPassedOnUntilTheProgramHasEnough) {
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.receive_until("\r\n\r\n");
      co_await guest.send("HTTP/1.1 200 OK\r\n\r\n");
      const std::string piece(1 << 16, 'x');
      for (int i = 0; i < 64; ++i) co_await guest.send(piece);
      co_await guest.rest();
    });
    const std::string host = place(server);
    const auto program = connect();
    co_await program->send(get("http://" + host + "/", host));
    co_await program->receive_exactly(1 << 20);
    program->close();
    const EgressEvent closed = co_await event(Outcome::closed);
    EXPECT_GE(closed.bytes_down, std::uint64_t{1} << 20);
  });
}

TEST_F(EgressProxy, ServerThatIsNotThere_Is502AndUnknownName502) {
  run([this]() -> Task<> {
    asio::ip::tcp::acceptor unused(io_, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    const std::string host = "server.test:" + std::to_string(unused.local_endpoint().port());
    unused.close();
    const auto refused = co_await ask(get("http://" + host + "/", host));
    EXPECT_EQ(refused.status, 502u);
    EXPECT_EQ((co_await event(Outcome::failed)).outcome, Outcome::failed);
    Policy policy = egress_->policy();
    policy.allow.push_back(rule("unknown.test"));
    egress_->set_policy(policy);
    const auto unknown = co_await ask(get("http://unknown.test/", "unknown.test"));
    EXPECT_EQ(unknown.status, 502u);
    EXPECT_NE(unknown.body.find("unknown.test has no address"), std::string::npos) << unknown.body;
  });
}

TEST_F(EgressProxy, ResolverThatIsSilent_Is504) {
  options_.resolve = std::chrono::milliseconds(1);
  run([this]() -> Task<> {
    resolver_->silent = true;
    const auto response = co_await ask(get("http://server.test/", "server.test"));
    EXPECT_EQ(response.status, 504u);
  });
}

TEST_F(EgressProxy, SilentServer_Is504AfterTheIdleTime) {
  options_.idle = std::chrono::milliseconds(50);
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> { co_await guest.rest(); });
    const std::string host = place(server);
    const auto response = co_await ask(get("http://" + host + "/", host));
    EXPECT_EQ(response.status, 504u);
  });
}

TEST_F(EgressProxy, SlowHead_IsEnded) {
  options_.head = std::chrono::milliseconds(50);
  run([this]() -> Task<> {
    const auto program = connect();
    co_await program->send("GET http://server.test/ HT");
    const auto response = co_await program->answer();
    EXPECT_EQ(response.status, 408u);
    const auto silent = connect();
    EXPECT_EQ(co_await silent->rest(), "");
  });
}

TEST_F(EgressProxy, PolicyThatChanges_EndsRequestsUnderWay) {
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.receive_until("\r\n\r\n");
      co_await guest.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst");
      co_await guest.rest();
    });
    const std::string host = place(server);
    const auto program = connect();
    co_await program->send(get("http://" + host + "/", host));
    std::string received;
    while (received.find("first") == std::string::npos) received += co_await program->receive();
    egress_->set_policy(allow({"127.0.0.0/8:1-65535"}));
    EXPECT_EQ(co_await program->rest(), "");
    EXPECT_NE((co_await event(Outcome::ended)).reason.find("the policy changed"), std::string::npos);
  });
}

TEST_F(EgressProxy, PolicyThatChangesWhileANameIsResolved_IsTheOneThatCounts) {
  run([this]() -> Task<> {
    auto& server = serve_http("x");
    const std::string host = place(server);
    resolver_->on_ask = [this] { egress_->set_policy(allow({"server.test:1-65535"})); };
    const auto response = co_await ask(get("http://" + host + "/", host));
    EXPECT_EQ(response.status, 403u);
    EXPECT_EQ(server.connections(), 0);
  });
}

TEST_F(EgressProxy, PlainRequestForAHostWithASecret_IsRefused) {
  Rule secret = rule("server.test:1-65535");
  secret.secret = SecretUse{.secret = "key", .name = "Authorization"};
  sandbox_.policy.allow.insert(sandbox_.policy.allow.begin(), secret);
  run([this]() -> Task<> {
    auto& server = serve_http("x");
    const std::string host = place(server);
    const auto response = co_await ask(get("http://" + host + "/", host));
    EXPECT_EQ(response.status, 403u);
    EXPECT_NE(response.body.find("TLS"), std::string::npos);
    EXPECT_EQ(server.connections(), 0);
  });
}

}  // namespace
}  // namespace cloche::egress::testing
