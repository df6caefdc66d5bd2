#include "http/client_websocket.hpp"

#include <gtest/gtest.h>

#include "http/testing/scripted_server.hpp"

namespace cloche::http {
namespace {

using namespace std::string_literals;
using namespace std::chrono_literals;
using testing::Peer;
using testing::ReceivedRequest;

std::string field_in(const std::string& head, const std::string& name) {
  const auto at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 4;
  return head.substr(from, head.find("\r\n", from) - from);
}

std::string agreed(const ReceivedRequest& request, const std::string& more = "Sec-WebSocket-Protocol: v5\r\n") {
  return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
         websocket_accept(field_in(request.head, "Sec-WebSocket-Key")) + "\r\n" + more + "\r\n";
}

class ClientWebSocketTest : public ::testing::Test {
 protected:
  void run(const std::function<Task<>(Client&)>& body) {
    EXPECT_TRUE(testing::run_to_end(io_, [this, body]() -> Task<> {
      Client client(io_.get_executor(), server_.endpoint());
      co_await body(client);
      co_await server_.stop();
    }));
  }
  Task<Result<WebSocketAnswer>> open(Client& client) {
    ClientWebSocketOptions options;
    options.protocols = {"v5", "v4"};
    options.message = kib(1);
    return open_websocket(client, io_.get_executor(), "/ws", std::move(options), soon());
  }
  static Deadline soon() { return Deadline::after(10s); }

  asio::io_context io_;
  testing::ScriptedServer server_{io_.get_executor()};
};

TEST(WebSocketAccept, ExampleOfTheStandard_Fits) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST_F(ClientWebSocketTest, Messages_GoBothWays_AndPingsAreAnswered) {
  std::string received;
  server_.on("GET /ws", [&received](ReceivedRequest request, Peer& peer) -> Task<> {
    EXPECT_EQ(field_in(request.head, "Sec-WebSocket-Protocol"), "v5, v4");
    // The first message comes with the head.
    std::string bytes = agreed(request) + "\x89\x01p\x82\x03one"s;
    co_await peer.send(std::move(bytes));
    while (received.size() < 7 + 6 + 3) {
      const std::string more = co_await peer.receive();
      received += more;
    }
    std::string end = "\x88\x02\x03\xe8"s;
    co_await peer.send(std::move(end));
  });
  run([this](Client& client) -> Task<> {
    auto answer = co_await open(client);
    EXPECT_TRUE(answer && answer->socket);
    if (!answer || !answer->socket) co_return;
    EXPECT_EQ(answer->socket->protocol(), "v5");
    auto one = co_await answer->socket->read(soon());
    EXPECT_TRUE(one && *one && **one == "one");
    auto written = co_await answer->socket->write("two", soon());
    EXPECT_TRUE(written);
    auto end = co_await answer->socket->read(soon());
    EXPECT_TRUE(end && !*end);
  });
  // A pong of one byte, then a message of three; all masked.
  ASSERT_EQ(received.size(), 16U);
  EXPECT_EQ(received.substr(0, 2), "\x8a\x81"s);
  EXPECT_EQ(received[6] ^ received[2], 'p');
  EXPECT_EQ(received.substr(7, 2), "\x82\x83"s);
  EXPECT_EQ(received[13] ^ received[9], 't');
}

TEST_F(ClientWebSocketTest, InvalidHandshakes_AreRejected) {
  const std::vector<std::function<std::string(const ReceivedRequest&)>> answers = {
      [](const ReceivedRequest& request) { return agreed(request, ""); },
      [](const ReceivedRequest& request) { return agreed(request, "Sec-WebSocket-Protocol: v9\r\n"); },
      [](const ReceivedRequest& request) {
        return agreed(request, "Sec-WebSocket-Protocol: v5\r\nSec-WebSocket-Extensions: permessage-deflate\r\n");
      },
      [](const ReceivedRequest&) {
        return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Accept: AAAA\r\nSec-WebSocket-Protocol: v5\r\n\r\n"s;
      },
      [](const ReceivedRequest&) { return "HTTP/1.1 200 OK\r\n\r\n"s; }};
  run([&](Client& client) -> Task<> {
    for (const auto& each : answers) {
      server_.on("GET /ws", [each](ReceivedRequest request, Peer& peer) -> Task<> {
        std::string bytes = each(request);
        co_await peer.send(std::move(bytes));
      });
      auto answer = co_await open(client);
      EXPECT_TRUE(!answer && answer.error().code == ErrorCode::protocol);
    }
  });
}

TEST_F(ClientWebSocketTest, Refusal_IsTheResponse) {
  server_.on("GET /ws", 403, R"({"message":"no"})");
  run([this](Client& client) -> Task<> {
    auto answer = co_await open(client);
    EXPECT_TRUE(answer && !answer->socket && answer->response.status == 403);
    EXPECT_TRUE(answer && answer->response.body.find("no") != std::string::npos);
  });
}

TEST_F(ClientWebSocketTest, ConnectionThatBreaksOff_IsUnavailable_AndAHostileOneAViolation) {
  const std::pair<std::string, ErrorCode> cases[] = {{"\x82\x05he"s, ErrorCode::unavailable},
                                                     {"\xf2\x05he"s, ErrorCode::protocol},
                                                     {"\x82\x7e\xff\xff"s, ErrorCode::limit_reached}};
  run([&](Client& client) -> Task<> {
    for (const auto& [bytes, code] : cases) {
      server_.on("GET /ws", [bytes = bytes](ReceivedRequest request, Peer& peer) -> Task<> {
        std::string all = agreed(request) + bytes;
        co_await peer.send(std::move(all));
        peer.hang_up();
      });
      auto answer = co_await open(client);
      EXPECT_TRUE(answer && answer->socket);
      if (!answer || !answer->socket) co_return;
      auto message = co_await answer->socket->read(soon());
      EXPECT_TRUE(!message && message.error().code == code) << message.error().message;
    }
  });
}

}  // namespace
}  // namespace cloche::http
