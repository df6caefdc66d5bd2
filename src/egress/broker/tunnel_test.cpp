// Tunnels: by CONNECT, by SOCKS5 and without a proxy. What is in them, and how they end.
#include "egress/broker/first_bytes.hpp"
#include "egress/testing/brokered.hpp"
#include "egress/testing/hello.hpp"

namespace cloche::egress::testing {
namespace {

class EgressTunnel : public Brokered, public ::testing::WithParamInterface<Between> {
 protected:
  EgressTunnel() { between_ = GetParam(); }
  static std::string connect_to(const std::string& authority) {
    return "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n";
  }
  std::string place(const ScriptedTcpServer& server, const std::string& host = "server.test") const {
    return host + ":" + std::to_string(server.port());
  }
  // Sends back what it gets, and ends when the program has ended.
  ScriptedTcpServer& serve_echo() {
    return serve([](Guest& guest) -> Task<> {
      for (;;) {
        const std::string bytes = co_await guest.receive();
        if (bytes.empty()) break;
        co_await guest.send(bytes);
      }
      co_await guest.send("bye");
      guest.end_writing();
    });
  }
  Task<std::unique_ptr<Program>> tunnel(std::string authority) {
    auto program = connect();
    co_await program->send(connect_to(authority));
    const auto response = co_await program->answer_without_body();
    EXPECT_EQ(response.status, 200u) << authority;
    co_return program;
  }
  static std::string socks_name(const std::string& name, std::uint16_t port, char command = 1) {
    std::string bytes = "\x05";
    bytes += command;
    bytes += std::string("\0\x03", 2);
    bytes += static_cast<char>(name.size());
    bytes += name;
    bytes += static_cast<char>(port >> 8);
    bytes += static_cast<char>(port & 0xff);
    return bytes;
  }
  Task<std::string> socks(Program& program, std::string request) {
    co_await program.send(std::string("\x05\x02\x02\x00", 4) + request);
    const std::string method = co_await program.receive_exactly(2);
    EXPECT_EQ(method, std::string("\x05\x00", 2));
    co_return co_await program.receive_exactly(10);
  }
};

TEST_P(EgressTunnel, Connect_RelaysBothWaysAndEachEndByItself) {
  run([this]() -> Task<> {
    auto& server = serve_echo();
    const auto program = co_await tunnel(place(server));
    co_await program->send("one");
    EXPECT_EQ(co_await program->receive_exactly(3), "one");
    program->end_writing();
    EXPECT_EQ(co_await program->rest(), "bye");
    const EgressEvent allowed = co_await event(Outcome::allowed);
    EXPECT_EQ(allowed.protocol, Protocol::http_connect);
    EXPECT_EQ(allowed.host, "server.test");
    const EgressEvent closed = co_await event(Outcome::closed);
    EXPECT_EQ(closed.id, allowed.id);
    EXPECT_EQ(closed.bytes_up, 3u);
    EXPECT_EQ(closed.bytes_down, 6u);
    EXPECT_EQ(broker_->totals().connections, 1u);
  });
}

TEST_P(EgressTunnel, ServerThatEndsFirst_StillReadsTheProgram) {
  run([this]() -> Task<> {
    std::string received;
    Event changed(io_.get_executor());
    auto& server = serve([&](Guest& guest) -> Task<> {
      co_await guest.send("banner");
      guest.end_writing();
      received = co_await guest.rest();
      changed.notify();
    });
    const auto program = co_await tunnel(place(server));
    EXPECT_EQ(co_await program->rest(), "banner");
    co_await program->send("late");
    program->end_writing();
    while (received.empty()) co_await changed.wait();
    EXPECT_EQ(received, "late");
    EXPECT_EQ((co_await event(Outcome::closed)).bytes_up, 4u);
  });
}

TEST_P(EgressTunnel, BytesSentWithTheConnect_AreTheFirstOfTheTunnel) {
  run([this]() -> Task<> {
    auto& server = serve_echo();
    const auto program = connect();
    co_await program->send(connect_to(place(server)) + "early");
    const auto response = co_await program->answer_without_body();
    EXPECT_EQ(response.status, 200u);
    EXPECT_TRUE(response.field("Content-Length").empty());
    EXPECT_EQ(co_await program->receive_exactly(5), "early");
  });
}

TEST_P(EgressTunnel, MuchInBothDirections_ArrivesWhole) {
  run([this]() -> Task<> {
    auto& server = serve_echo();
    const auto program = co_await tunnel(place(server));
    std::string sent(3 << 20, '\0');
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 >> 3);
    sent[0] = 'x';  // not TLS
    Event done(io_.get_executor());
    std::string received;
    TaskGroup reader(io_.get_executor());
    reader.spawn("reader", [&]() -> Task<> {
      received = co_await program->receive_exactly(sent.size());
      done.notify();
    });
    co_await program->send(sent);
    while (received.empty()) co_await done.wait();
    EXPECT_TRUE(received == sent);
    co_await reader.shut_down();
  });
}

TEST_P(EgressTunnel, ConnectThatTheRulesRefuse_Is403WithTheReason) {
  sandbox_.policy.deny.push_back(rule("server.test:1-1024"));
  run([this]() -> Task<> {
    struct Case {
      std::string authority;
      unsigned status;
    };
    const std::vector<Case> cases{
        {"other.test:443", 403}, {"server.test:22", 403},      {"10.0.0.1:443", 403},
        {"server.test", 400},    {"server.test:0", 400},       {"server.test:99999", 400},
        {"[::1]:443", 403},      {"0x7f000001:443", 400},      {"/run/cloche.sock:1", 400},
        {"unix:1", 403},         {"server.test:443:443", 400}, {"[server.test]:443", 400},
    };
    for (const Case& each : cases) {
      const auto response = co_await ask(connect_to(each.authority));
      EXPECT_EQ(response.status, each.status) << each.authority << " " << response.body;
    }
    const auto denied = co_await ask(connect_to("server.test:22"));
    EXPECT_NE(denied.body.find("(rule `server.test:1-1024`)"), std::string::npos) << denied.body;
  });
}

TEST_P(EgressTunnel, ConnectWithABody_Is400) {
  run([this]() -> Task<> {
    auto& server = serve_echo();
    const std::string authority = place(server);
    const auto response =
        co_await ask("CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\nContent-Length: 4\r\n\r\nabcd");
    EXPECT_EQ(response.status, 400u);
    EXPECT_EQ(server.connections(), 0);
  });
}

TEST_P(EgressTunnel, AddressesOfTheServiceItself_CannotBeReached) {
  run([this]() -> Task<> {
    auto& service = serve_http("the service");
    auto& everywhere = serve_http("the service, too");
    broker_->forbid({.address = *Address::parse("127.0.0.1"), .port = service.port()});
    broker_->forbid({.address = *Address::parse("0.0.0.0"), .port = everywhere.port()});
    for (const std::string host : {"127.0.0.1", "server.test", "[::ffff:127.0.0.1]"}) {
      const auto response = co_await ask(connect_to(place(service, host)));
      EXPECT_EQ(response.status, 403u) << host;
      const auto other = co_await ask(connect_to(place(everywhere, host)));
      EXPECT_EQ(other.status, 403u) << host;
    }
    EXPECT_EQ((co_await ask(connect_to(place(everywhere, "127.0.0.2")))).status, 403u);
    EXPECT_EQ(service.connections() + everywhere.connections(), 0);
  });
}

TEST_P(EgressTunnel, ServerNameOfTls_MustBeTheHost) {
  run([this]() -> Task<> {
    auto& server = serve_echo();
    const std::string right = client_hello("Server.TEST");
    const auto program = co_await tunnel(place(server));
    co_await program->send(right.substr(0, 7));
    co_await program->send(right.substr(7));
    EXPECT_EQ(co_await program->receive_exactly(right.size()), right);
    for (const std::string name : {"other.test", ""}) {
      const auto wrong = co_await tunnel(place(server));
      co_await wrong->send(client_hello(name));
      EXPECT_EQ(co_await wrong->rest(), "") << name;
      const EgressEvent denied = co_await event(Outcome::denied);
      EXPECT_NE(denied.reason.find("server name"), std::string::npos) << denied.reason;
      EXPECT_EQ(denied.bytes_up, 0u);
    }
    const auto by_address = co_await tunnel(place(server, "127.0.0.1"));
    const std::string nameless = client_hello("");
    co_await by_address->send(nameless);
    EXPECT_EQ(co_await by_address->receive_exactly(nameless.size()), nameless);
  });
}

TEST_P(EgressTunnel, TlsThatCannotBeRead_IsRefused) {
  run([this]() -> Task<> {
    auto& server = serve_echo();
    const auto program = co_await tunnel(place(server));
    co_await program->send(std::string("\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", 10));
    EXPECT_EQ(co_await program->rest(), "");
    co_await event(Outcome::denied);
  });
}

TEST_P(EgressTunnel, HelloThatDoesNotArrive_EndsTheTunnel) {
  options_.head = std::chrono::milliseconds(50);
  run([this]() -> Task<> {
    auto& server = serve_echo();
    const auto program = co_await tunnel(place(server));
    co_await program->send("\x16\x03");
    EXPECT_EQ(co_await program->rest(), "");
    EXPECT_NE((co_await event(Outcome::failed)).reason.find("timed out"), std::string::npos);
  });
}

TEST(EgressServerName, NamedDestination_AcceptsItsNameOnly) {
  const Policy policy{.network = Network::internet, .allow = {}, .deny = {parse_rule("bad.test").value()}};
  const Destination named{.name = "a.test", .address = std::nullopt, .port = 443};
  EXPECT_TRUE(check_server_name(policy, named, "A.test."));
  EXPECT_FALSE(check_server_name(policy, named, ""));
  EXPECT_FALSE(check_server_name(policy, named, "b.a.test"));
  EXPECT_FALSE(check_server_name(policy, named, std::string_view("a.test\0.evil.test", 17)));
  const Destination address{.name = {}, .address = Address::parse("8.8.8.8"), .port = 443};
  EXPECT_TRUE(check_server_name(policy, address, ""));
  EXPECT_TRUE(check_server_name(policy, address, "any.test"));
  EXPECT_FALSE(check_server_name(policy, address, "bad.test"));
  EXPECT_FALSE(check_server_name(policy, address, "not a name"));
}

TEST_P(EgressTunnel, ServerThatSpeaksFirst_IsHeard) {
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.send("SSH-2.0-test\r\n");
      const std::string answer = co_await guest.receive_until("\n");
      co_await guest.send("got " + answer);
    });
    const auto program = co_await tunnel(place(server));
    EXPECT_EQ(co_await program->receive_exactly(14), "SSH-2.0-test\r\n");
    co_await program->send("SSH-2.0-client\n");
    EXPECT_EQ(co_await program->receive_exactly(19), "got SSH-2.0-client\n");
  });
}

TEST_P(EgressTunnel, ServerThatResets_EndsTheTunnel) {
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> {
      co_await guest.receive();
      guest.reset();
    });
    const auto program = co_await tunnel(place(server));
    co_await program->send("x");
    EXPECT_EQ(co_await program->rest(), "");
    EXPECT_FALSE((co_await event(Outcome::closed)).reason.empty());
  });
}

TEST_P(EgressTunnel, NothingTransferred_EndsAfterTheIdleTime) {
  options_.idle = std::chrono::milliseconds(50);
  run([this]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> { co_await guest.rest(); });
    const auto program = co_await tunnel(place(server));
    EXPECT_EQ(co_await program->rest(), "");
    co_await event(Outcome::ended);
  });
}

TEST_P(EgressTunnel, SecretWithoutAnInterceptor_IsRefused) {
  Rule secret = rule("server.test:1-65535");
  secret.secret = SecretUse{.secret = "key", .name = "Authorization"};
  sandbox_.policy.allow.insert(sandbox_.policy.allow.begin(), secret);
  run([this]() -> Task<> {
    auto& server = serve_echo();
    const auto response = co_await ask(connect_to(place(server)));
    EXPECT_EQ(response.status, 403u);
    EXPECT_NE(response.body.find("secret"), std::string::npos);
    EXPECT_EQ(server.connections(), 0);
  });
}

class RecordingInterceptor final : public Interceptor {
 public:
  Task<Status> serve(std::unique_ptr<http::Stream> program, Intercepted& connection) override {
    std::string room(4096, '\0');
    auto count = co_await program->read_some(room, Deadline::never());
    first = room.substr(0, count.value_or(0));
    auto server = co_await connection.connect();
    EXPECT_TRUE(server);
    if (!server) co_return Status{};
    auto refused = connection.begin_request("DELETE", "/x");
    EXPECT_FALSE(refused);
    auto account = connection.begin_request("GET", "/x");
    EXPECT_TRUE(account);
    CLOCHE_CO_CHECK(co_await (*server)->write_all("request", Deadline::never()));
    (*account)->event().secret = "key";
    (*account)->event().status = 200;
    (*account)->close(Outcome::closed, {});
    co_await program->end_writing(Deadline::never());
    co_return Status{};
  }
  std::string first;
};

TEST_P(EgressTunnel, SecretWithAnInterceptor_IsHandedOver) {
  Rule secret = rule("server.test:1-65535");
  secret.secret = SecretUse{.secret = "key", .name = "Authorization"};
  secret.methods = {"GET"};
  sandbox_.policy.allow = {secret, rule("127.0.0.0/8:1-65535")};
  const auto interceptor = std::make_shared<RecordingInterceptor>();
  options_.interceptor = interceptor;
  run([this, interceptor]() -> Task<> {
    auto& server = serve([](Guest& guest) -> Task<> { co_await guest.rest(); });
    const auto program = co_await tunnel(place(server));
    const std::string hello = client_hello("server.test");
    co_await program->send(hello);
    EXPECT_EQ(co_await program->rest(), "");
    EXPECT_EQ(interceptor->first, hello);
    const EgressEvent denied = co_await event(Outcome::denied);
    EXPECT_EQ(denied.method, "DELETE");
    const EgressEvent request = co_await event(Outcome::closed);
    EXPECT_EQ(request.method, "GET");
    EXPECT_EQ(request.secret, "key");
    EXPECT_EQ(request.bytes_up, 7u);
    const EgressEvent connection = co_await event(Outcome::closed);
    EXPECT_EQ(connection.protocol, Protocol::http_connect);
    // Anything but TLS never gets to the interceptor.
    const auto plain = co_await tunnel(place(server));
    co_await plain->send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(co_await plain->rest(), "");
    EXPECT_NE((co_await event(Outcome::denied)).reason.find("TLS"), std::string::npos);
  });
}

TEST_P(EgressTunnel, Socks_ConnectsByNameAndAddress) {
  run([this]() -> Task<> {
    auto& server = serve_echo();
    const auto program = connect();
    const std::string reply = co_await socks(*program, socks_name("Server.test", server.port()));
    EXPECT_EQ(reply, std::string("\x05\x00\x00\x01\0\0\0\0\0\0", 10));
    co_await program->send("hi");
    EXPECT_EQ(co_await program->receive_exactly(2), "hi");
    EXPECT_EQ((co_await event(Outcome::allowed)).protocol, Protocol::socks);
    std::string by_address("\x05\x01\x00\x01\x7f\x00\x00\x01", 8);
    by_address += static_cast<char>(server.port() >> 8);
    by_address += static_cast<char>(server.port() & 0xff);
    const auto other = connect();
    EXPECT_EQ((co_await socks(*other, by_address))[1], 0);
  });
}

TEST_P(EgressTunnel, SocksThatIsNotAllowed_GetsItsCode) {
  run([this]() -> Task<> {
    struct Case {
      std::string request;
      int code;
    };
    const std::vector<Case> cases{
        {socks_name("other.test", 443), 2},
        {socks_name("server.test", 443, 2), 7},
        {socks_name("0x7f.1", 443), 1},
        {socks_name("", 443), 8},
        {std::string("\x05\x01\x00\x09\x00\x00\x00\x00", 8), 8},
        {std::string("\x05\x01\x00\x01\x0a\x00\x00\x01\x01\xbb", 10), 2},
    };
    for (const Case& each : cases) {
      const auto program = connect();
      const std::string reply = co_await socks(*program, each.request);
      EXPECT_EQ(reply.substr(0, 2), std::string("\x05") + static_cast<char>(each.code)) << each.request;
      EXPECT_EQ(co_await program->rest(), "");
    }
    const auto with_password = connect();
    co_await with_password->send("\x05\x01\x02");
    EXPECT_EQ(co_await with_password->rest(), "\x05\xff");
    const auto broken = connect();
    co_await broken->send(std::string("\x05\x01\x00\x04", 4));
    EXPECT_EQ(co_await broken->rest(), std::string("\x05\x00", 2));
  });
}

TEST_P(EgressTunnel, Transparent_IsRelayedOrClosed) {
  run([this]() -> Task<> {
    auto& server = serve_echo();
    Destination meant{.name = "server.test", .address = std::nullopt, .port = server.port()};
    const auto program = connect(meant);
    co_await program->send("direct");
    EXPECT_EQ(co_await program->receive_exactly(6), "direct");
    EXPECT_EQ((co_await event(Outcome::allowed)).protocol, Protocol::tcp);
    meant.name = "other.test";
    const auto refused = connect(meant);
    EXPECT_EQ(co_await refused->rest(), "");
    co_await event(Outcome::denied);
  });
}

TEST_P(EgressTunnel, Port80_IsReadAsHttp) {
  sandbox_.policy = allow({"server.test", "127.0.0.0/8"});
  sandbox_.policy.allow[0].methods = {"GET"};
  run([this]() -> Task<> {
    for (const bool transparent : {false, true}) {
      const Destination meant{.name = "server.test", .address = std::nullopt, .port = 80};
      std::unique_ptr<Program> program;
      if (transparent) {
        program = connect(meant);
      } else {
        program = co_await tunnel("server.test:80");
      }
      struct Case {
        std::string request;
        unsigned status;
      };
      // Nothing listens on port 80 here: a request that is allowed ends with 502.
      const std::vector<Case> cases{
          {"GET /a HTTP/1.1\r\nHost: server.test\r\n\r\n", 502},
          {"POST /a HTTP/1.1\r\nHost: server.test\r\nContent-Length: 0\r\n\r\n", 403},
          {"GET /a HTTP/1.1\r\nHost: other.test\r\n\r\n", 400},
          {"GET http://other.test/a HTTP/1.1\r\nHost: other.test\r\n\r\n", 400},
          {"GET /a HTTP/1.1\r\nHost: server.test:81\r\n\r\n", 400},
          {"CONNECT server.test:443 HTTP/1.1\r\nHost: server.test\r\n\r\n", 400},
          {client_hello("server.test"), 400},
      };
      for (const Case& each : cases) {
        co_await program->send(each.request);
        const auto response = co_await program->answer();
        EXPECT_EQ(response.status, each.status) << each.request;
      }
    }
  });
}

TEST_P(EgressTunnel, PolicyThatChanges_EndsWhatItRefuses) {
  run([this]() -> Task<> {
    auto& server = serve_echo();
    const auto kept = co_await tunnel(place(server, "127.0.0.1"));
    const auto lost = co_await tunnel(place(server));
    co_await kept->send("a");
    co_await lost->send("b");
    co_await kept->receive_exactly(1);
    co_await lost->receive_exactly(1);
    egress_->set_policy(allow({"127.0.0.0/8:1-65535"}));
    EXPECT_EQ(co_await lost->rest(), "");
    const EgressEvent ended = co_await event(Outcome::ended);
    EXPECT_EQ(ended.host, "server.test");
    EXPECT_NE(ended.reason.find("the policy changed"), std::string::npos);
    co_await kept->send("c");
    EXPECT_EQ(co_await kept->receive_exactly(1), "c");
    egress_->set_policy(Policy{});
    EXPECT_EQ(co_await kept->rest(), "");
    const auto response = co_await ask(connect_to(place(server)));
    EXPECT_EQ(response.status, 403u);
    EXPECT_NE(response.body.find("no network"), std::string::npos);
  });
}

TEST_P(EgressTunnel, Close_EndsEveryConnection) {
  run([this]() -> Task<> {
    auto& server = serve_echo();
    std::vector<std::unique_ptr<Program>> programs;
    for (int i = 0; i < 10; ++i) {
      programs.push_back(co_await tunnel(place(server)));
      co_await programs.back()->send("x");
      co_await programs.back()->receive_exactly(1);
    }
    const auto between_requests = connect();
    co_await egress_->close();
    EXPECT_EQ(broker_->totals().open, 0u);
    EXPECT_TRUE(egress_->books().closed());
    for (const auto& program : programs) EXPECT_EQ(co_await program->rest(), "");
    const auto late = connect();
    EXPECT_EQ(co_await late->rest(), "");
  });
}

TEST_P(EgressTunnel, FiveHundredConnections_AreCarriedAndOneMoreIsNot) {
  options_.connections = 500;
  run([this]() -> Task<> {
    auto& server = serve_echo();
    std::vector<std::unique_ptr<Program>> programs;
    for (int i = 0; i < 500; ++i) programs.push_back(co_await tunnel(place(server)));
    EXPECT_EQ(broker_->totals().open, 500u);
    const auto one_more = connect();
    EXPECT_EQ(co_await one_more->rest(), "");
    const EgressEvent refused = co_await event(Outcome::over_quota);
    EXPECT_NE(refused.reason.find("500 of 500"), std::string::npos) << refused.reason;
    for (const auto& program : programs) co_await program->send("x");
    for (const auto& program : programs) EXPECT_EQ(co_await program->receive_exactly(1), "x");
  });
}

INSTANTIATE_TEST_SUITE_P(Over, EgressTunnel, ::testing::Values(Between::memory, Between::sockets),
                         [](const auto& test) { return test.param == Between::memory ? "Memory" : "Sockets"; });

}  // namespace
}  // namespace cloche::egress::testing
