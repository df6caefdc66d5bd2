// WebSockets and other protocols that a connection can switch to.
#include "http/server/websocket.hpp"

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

#include "http/client.hpp"
#include "http/server/testing/served.hpp"

namespace cloche::http {
namespace {

using namespace std::chrono_literals;
using testing::Served;
namespace beast = boost::beast;
using asio::ip::tcp;

using Native = beast::websocket::stream<tcp::socket>;

class WebSockets : public Served {
 protected:
  WebSockets() {
    handler_ = [this](Exchange& exchange) -> Task<> {
      auto socket = co_await accept_websocket(exchange, websocket_options_);
      if (!socket) co_return;
      for (;;) {
        auto message = co_await (*socket)->read();
        if (!message) {
          ended_with_ = message.error().code;
          break;
        }
        if (!*message) {
          closed_ = true;
          break;
        }
        if ((*message)->data == "bye") {
          co_await (*socket)->close(4001, "as you wish");
          break;
        }
        co_await (*socket)->write((*message)->kind, (*message)->data);
      }
      ended_ = true;
      changed_.notify();
    };
  }

  Task<std::unique_ptr<Native>> open(std::string protocols = "") {
    auto client = std::make_unique<Native>(io_);
    const tcp::endpoint where(asio::ip::address_v4::loopback(), port());
    co_await client->next_layer().async_connect(where, asio::use_awaitable);
    client->set_option(beast::websocket::stream_base::decorator([protocols](beast::websocket::request_type& request) {
      if (!protocols.empty()) request.set(beast::http::field::sec_websocket_protocol, protocols);
    }));
    co_await client->async_handshake(response_, "h", "/", asio::use_awaitable);
    co_return client;
  }
  Task<> send(Native& client, std::string text) {
    co_await client.async_write(asio::buffer(text), asio::use_awaitable);
  }
  Task<std::string> receive(Native& client) {
    beast::flat_buffer buffer;
    co_await client.async_read(buffer, asio::redirect_error(asio::use_awaitable, last_));
    co_return beast::buffers_to_string(buffer.data());
  }
  Task<> until_ended() {
    while (!ended_) co_await changed_.wait();
  }

  WebSocketOptions websocket_options_;
  beast::websocket::response_type response_;
  boost::system::error_code last_;
  bool closed_ = false;
  bool ended_ = false;
  std::optional<ErrorCode> ended_with_;
};

TEST_F(WebSockets, Messages_GoBothWaysAndTheClientCloses) {
  run([&]() -> Task<> {
    auto client = co_await open();
    EXPECT_FALSE(std::string(response_["X-Request-Id"]).empty());
    for (const std::size_t size : {0, 1, 125, 126, 65'536, 1'000'000}) {
      const std::string sent(size, 'x');
      client->text(size % 2 == 0);
      co_await send(*client, sent);
      const std::string received = co_await receive(*client);
      EXPECT_TRUE(received == sent) << size;
      EXPECT_EQ(client->got_text(), size % 2 == 0);
    }
    co_await client->async_close(beast::websocket::close_code::normal, asio::use_awaitable);
    co_await until_ended();
    EXPECT_TRUE(closed_);
  });
}

TEST_F(WebSockets, ServerThatCloses_SaysWhy) {
  run([&]() -> Task<> {
    auto client = co_await open();
    co_await send(*client, "bye");
    co_await receive(*client);
    EXPECT_EQ(last_, beast::websocket::error::closed);
    EXPECT_EQ(client->reason().code, 4001);
    EXPECT_EQ(std::string(client->reason().reason.c_str()), "as you wish");
    co_await until_ended();
  });
}

TEST_F(WebSockets, MessageTooLargeOrNotUtf8_EndsIt) {
  websocket_options_.message = {1000};
  run([&]() -> Task<> {
    auto client = co_await open();
    co_await send(*client, std::string(1001, 'x'));
    co_await receive(*client);
    EXPECT_EQ(client->reason().code, beast::websocket::close_code::too_big);
    co_await until_ended();
    EXPECT_EQ(ended_with_, ErrorCode::limit_reached);
    ended_ = false;
    auto other = co_await open();
    other->text(true);
    co_await send(*other, "\xff\xfe");
    co_await receive(*other);
    EXPECT_EQ(other->reason().code, beast::websocket::close_code::bad_payload);
    co_await until_ended();
    EXPECT_EQ(ended_with_, ErrorCode::protocol);
  });
}

TEST_F(WebSockets, ClientThatVanishes_EndsTheRead) {
  run([&]() -> Task<> {
    auto client = co_await open();
    client->next_layer().close();
    co_await until_ended();
    EXPECT_EQ(ended_with_, ErrorCode::unavailable);
  });
}

TEST_F(WebSockets, ClientThatIgnoresPings_IsGivenUp) {
  websocket_options_.idle = 60ms;
  run([&]() -> Task<> {
    auto client = co_await open();  // and never reads, so no pong is sent
    co_await until_ended();
    EXPECT_TRUE(ended_with_.has_value());
  });
}

TEST_F(WebSockets, ClientThatAnswersPings_StaysOpen) {
  websocket_options_.idle = 60ms;
  run([&]() -> Task<> {
    auto client = co_await open();
    int pings = 0;
    client->control_callback([&](beast::websocket::frame_type kind, beast::string_view) {
      if (kind != beast::websocket::frame_type::ping || ++pings != 5) return;
      boost::system::error_code ignored;
      client->next_layer().shutdown(tcp::socket::shutdown_send, ignored);
    });
    co_await receive(*client);
    EXPECT_GE(pings, 5);
    co_await until_ended();
  });
}

TEST_F(WebSockets, Protocol_IsTheClientsFirstThatIsKnown) {
  websocket_options_.protocols = {"b", "c"};
  run([&]() -> Task<> {
    auto client = co_await open("a, c, b");
    EXPECT_EQ(std::string(response_[beast::http::field::sec_websocket_protocol]), "c");
    co_await client->async_close(beast::websocket::close_code::normal, asio::use_awaitable);
    co_await until_ended();
  });
}

TEST_F(WebSockets, RequestThatAsksForNone_IsRefused) {
  run([&]() -> Task<> {
    const Response plain = co_await ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(plain.status, 426u);
    EXPECT_EQ(plain.field("Sec-WebSocket-Version"), "13");
    const std::string head = "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    const Response old = co_await ask(head + "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: x\r\n\r\n");
    EXPECT_EQ(old.status, 426u);
    const Response no_key = co_await ask(head + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n");
    EXPECT_EQ(no_key.status, 400u);
  });
}

TEST_F(WebSockets, ShutDown_CutsAnOpenOne) {
  run([&]() -> Task<> {
    auto client = co_await open();
    co_await server_->shut_down(Deadline::after(20ms));
    co_await receive(*client);
    EXPECT_TRUE(last_);
  });
}

TEST_F(WebSockets, OtherProtocol_GetsTheStreamAndWhatCameWithTheHead) {
  handler_ = [](Exchange& exchange) -> Task<> {
    Fields fields;
    fields.emplace_back("Upgrade", exchange.field("Upgrade"));
    auto stream = co_await exchange.switch_protocols(std::move(fields));
    EXPECT_TRUE(stream);
    if (!stream) co_return;
    char bytes[64];
    const std::span<char> room(bytes);
    for (;;) {
      auto count = co_await (*stream)->read_some(room, Deadline::after(10s));
      if (!count || *count == 0) break;
      const std::string_view piece(bytes, *count);
      co_await (*stream)->write_all(piece, Deadline::after(10s));
    }
    const std::string_view last = "end";
    co_await (*stream)->write_all(last, Deadline::after(10s));
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly ");
    const Response answer = co_await client->answer();
    EXPECT_EQ(answer.status, 101u);
    EXPECT_EQ(answer.field("Upgrade"), "echo");
    co_await client->send("late ");
    client->end_writing();
    const std::string all = co_await client->rest();
    EXPECT_EQ(all, "early late end");
  });
}

}  // namespace
}  // namespace cloche::http
