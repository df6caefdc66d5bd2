// The client against a server that behaves, and against one that does not.
#include "http/client.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/unique_fd.hpp"
#include "http/testing/scripted_server.hpp"

namespace cloche::http {
namespace {

using namespace std::chrono_literals;
using testing::Peer;
using testing::ReceivedRequest;
using testing::run_to_end;
using testing::ScriptedServer;

Request get(std::string target) {
  Request request;
  request.method = "GET";
  request.target = std::move(target);
  return request;
}

Request post(std::string target, std::string body) {
  Request request;
  request.method = "POST";
  request.target = std::move(target);
  request.body = std::move(body);
  return request;
}

// A server and a client of it, and a test body that runs while both live.
class HttpClient : public ::testing::Test {
 protected:
  void run(const std::function<Task<>()>& body) {
    EXPECT_TRUE(run_to_end(io_, [this, body]() -> Task<> {
      co_await body();
      co_await server_.stop();
    }));
  }
  Task<Result<Response>> send(Request request, Deadline::Clock::duration span = 10s) {
    return client_.send(std::move(request), Deadline::after(span));
  }

  asio::io_context io_;
  ScriptedServer server_{io_.get_executor()};
  Client client_{io_.get_executor(), server_.endpoint()};
};

TEST_F(HttpClient, ManyRequests_UseOneConnection) {
  server_.on("POST /echo",
             [](ReceivedRequest request, Peer& peer) -> Task<> { co_await peer.reply(201, request.body); });
  run([this]() -> Task<> {
    for (int i = 0; i < 5; ++i) {
      const std::string body = "body " + std::to_string(i);
      auto response = co_await send(post("/echo", body));
      EXPECT_TRUE(response) << response.error().message;
      if (!response) co_return;
      EXPECT_EQ(response->status, 201u);
      EXPECT_EQ(response->body, body);
    }
    EXPECT_EQ(server_.connections(), 1);
  });
}

TEST_F(HttpClient, ConnectionClosedWhileIdle_IsReplaced) {
  server_.on("GET /x", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.reply(200, "{}");
    peer.hang_up();
  });
  run([this]() -> Task<> {
    for (int i = 0; i < 3; ++i) {
      auto response = co_await send(get("/x"));
      EXPECT_TRUE(response) << response.error().message;
    }
    EXPECT_EQ(server_.connections(), 3);
  });
}

TEST_F(HttpClient, KeptConnectionThatSwallowsAGet_IsAskedAgainButAPostIsNot) {
  int calls = 0;
  server_.on("GET /x", [&](ReceivedRequest, Peer& peer) -> Task<> {
    if (++calls == 2) {
      peer.hang_up();
      co_return;
    }
    co_await peer.reply(200, "{}");
  });
  server_.on("POST /x", [&](ReceivedRequest, Peer& peer) -> Task<> {
    peer.hang_up();
    co_return;
  });
  run([this, &calls]() -> Task<> {
    co_await send(get("/x"));
    auto again = co_await send(get("/x"));
    EXPECT_TRUE(again);
    EXPECT_EQ(calls, 3);
    auto posted = co_await send(post("/x", "once"));
    EXPECT_FALSE(posted);
    if (!posted) {
      EXPECT_EQ(posted.error().code, ErrorCode::unavailable);
    }
    EXPECT_EQ(server_.count("POST /x"), 1u);
  });
}

TEST_F(HttpClient, HungServer_FailsAtTheDeadline) {
  server_.on("GET /x", [](ReceivedRequest, Peer& peer) -> Task<> { co_await peer.receive(); });
  run([this]() -> Task<> {
    const auto before = std::chrono::steady_clock::now();
    auto response = co_await send(get("/x"), 50ms);
    EXPECT_FALSE(response);
    if (!response) {
      EXPECT_EQ(response.error().code, ErrorCode::timeout);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - before, 60s);
  });
}

TEST_F(HttpClient, ServerSilentInTheMiddleOfTheBody_FailsWhenPatienceEnds) {
  server_.on("GET /x", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    co_await peer.receive();
  });
  run([this]() -> Task<> {
    auto request = get("/x");
    request.patience = 50ms;
    auto response = co_await send(std::move(request), 1h);
    EXPECT_FALSE(response);
    if (!response) {
      EXPECT_EQ(response.error().code, ErrorCode::timeout);
    }
  });
}

TEST_F(HttpClient, ServerThatHangsUpInTheMiddle_IsUnavailable) {
  server_.on("GET /body", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    peer.hang_up();
  });
  server_.on("GET /head", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 200 OK\r\nConte");
    peer.hang_up();
  });
  run([this]() -> Task<> {
    for (const char* target : {"/body", "/head"}) {
      auto response = co_await send(get(target));
      EXPECT_FALSE(response);
      if (!response) {
        EXPECT_EQ(response.error().code, ErrorCode::unavailable) << response.error().message;
      }
    }
  });
}

TEST_F(HttpClient, Garbage_IsAProtocolError) {
  server_.on("GET /x", [](ReceivedRequest, Peer& peer) -> Task<> { co_await peer.send("\x16\x03\x01 what?\r\n\r\n"); });
  run([this]() -> Task<> {
    auto response = co_await send(get("/x"));
    EXPECT_FALSE(response);
    if (!response) {
      EXPECT_EQ(response.error().code, ErrorCode::protocol);
    }
  });
}

TEST_F(HttpClient, BodyWithoutEnd_StopsAtTheLimit) {
  server_.on("GET /x", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 64; ++i) co_await peer.send("10000\r\n" + std::string(0x10000, 'x') + "\r\n");
  });
  run([this]() -> Task<> {
    auto request = get("/x");
    request.body_limit = mib(1);
    auto response = co_await send(std::move(request));
    EXPECT_FALSE(response);
    if (!response) {
      EXPECT_EQ(response.error().code, ErrorCode::limit_reached);
    }
  });
}

TEST_F(HttpClient, ChunkLineWithoutEnd_StopsAtTheLimit) {
  server_.on("GET /x", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
    for (int i = 0; i < 64; ++i) co_await peer.send(std::string(0x10000, 'x'));
  });
  run([this]() -> Task<> {
    auto response = co_await send(get("/x"));
    EXPECT_FALSE(response);
    if (!response) {
      EXPECT_EQ(response.error().code, ErrorCode::limit_reached) << response.error().message;
    }
  });
}

TEST_F(HttpClient, InformationalResponses_AreSkippedAndBounded) {
  server_.on("GET /some", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n");
    co_await peer.reply(200, "done");
  });
  server_.on("GET /many", [](ReceivedRequest, Peer& peer) -> Task<> {
    for (int i = 0; i < 1000; ++i) co_await peer.send("HTTP/1.1 102 Processing\r\n\r\n");
  });
  run([this]() -> Task<> {
    auto response = co_await send(get("/some"));
    EXPECT_TRUE(response);
    if (response) {
      EXPECT_EQ(response->body, "done");
    }
    auto endless = co_await send(get("/many"));
    EXPECT_FALSE(endless);
  });
}

TEST_F(HttpClient, StreamedBodies_ArriveWholeBothWays) {
  server_.on("PUT /echo", [](ReceivedRequest request, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (std::size_t at = 0; at < request.body.size(); at += 70'001) {
      const std::string piece = request.body.substr(at, 70'001);
      char size[32];
      std::snprintf(size, sizeof size, "%zX\r\n", piece.size());
      co_await peer.send(size + piece + "\r\n");
    }
    co_await peer.send("0\r\n\r\n");
  });
  run([this]() -> Task<> {
    std::string sent, received;
    Request request;
    request.method = "PUT";
    request.target = "/echo";
    request.source = [&sent, left = 40]() mutable -> Task<Result<std::string>> {
      if (left-- == 0) co_return std::string();
      std::string piece(static_cast<std::size_t>(left) * 999 + 1, static_cast<char>('a' + left % 26));
      sent += piece;
      co_return piece;
    };
    BodySink sink = [&received](std::string_view piece) -> Task<Status> {
      received += piece;
      co_return Status{};
    };
    auto response = co_await client_.stream(std::move(request), std::move(sink), Deadline::after(10s));
    EXPECT_TRUE(response) << response.error().message;
    EXPECT_EQ(received, sent);
    EXPECT_GT(sent.size(), 500'000u);
  });
}

TEST_F(HttpClient, OpenedResponse_IsReadAsItComesUntilItIsClosed) {
  server_.on("POST /pieces", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Thing: yes\r\n\r\n3\r\none\r\n");
    const std::string word = co_await peer.receive();
    co_await peer.send("3\r\ntwo\r\n0\r\n\r\n");
  });
  server_.on("GET /plain", 200, "{}");
  run([this]() -> Task<> {
    Request request = post("/pieces", "");
    auto opened = co_await client_.open(std::move(request), Deadline::after(10s));
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) co_return;
    EXPECT_EQ((*opened)->head().status, 200U);
    EXPECT_EQ((*opened)->head().field("x-thing"), "yes");
    auto first = co_await (*opened)->next(Deadline::after(10s));
    EXPECT_TRUE(first && *first == "one");
    (*opened)->close();
    auto closed = co_await (*opened)->next(Deadline::after(10s));
    EXPECT_FALSE(closed);
  });
}

TEST_F(HttpClient, OpenedResponseThatEnds_IsEmptyFromThenOn) {
  server_.on("GET /two", [](ReceivedRequest, Peer& peer) -> Task<> { co_await peer.reply(404, "none"); });
  run([this]() -> Task<> {
    for (int i = 0; i < 3; ++i) {
      Request request = get("/two");
      auto opened = co_await client_.open(std::move(request), Deadline::after(10s));
      EXPECT_TRUE(opened && (*opened)->head().status == 404);
      if (!opened) co_return;
      auto body = co_await (*opened)->next(Deadline::after(10s));
      EXPECT_TRUE(body && *body == "none");
      for (int again = 0; again < 2; ++again) {
        auto end = co_await (*opened)->next(Deadline::after(10s));
        EXPECT_TRUE(end && end->empty());
      }
    }
    EXPECT_EQ(server_.connections(), 1) << "it is kept after the end";
  });
}

TEST_F(HttpClient, OpenedResponseThatBreaksOff_IsUnavailable) {
  server_.on("GET /half", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    peer.hang_up();
  });
  run([this]() -> Task<> {
    Request request = get("/half");
    auto opened = co_await client_.open(std::move(request), Deadline::after(10s));
    EXPECT_TRUE(opened);
    if (!opened) co_return;
    auto first = co_await (*opened)->next(Deadline::after(10s));
    EXPECT_TRUE(first && *first == "one");
    auto broken = co_await (*opened)->next(Deadline::after(10s));
    EXPECT_TRUE(!broken && broken.error().code == ErrorCode::unavailable);
  });
}

TEST(HttpEndpoint, HostField_LeavesTheUsualPortOut) {
  EXPECT_EQ(host_header(TcpEndpoint{"host", "80"}), "host");
  EXPECT_EQ(host_header(TcpEndpoint{"::1", "8080"}), "[::1]:8080");
  EXPECT_EQ(host_header(TlsEndpoint{"host", "443", {}}), "host");
  EXPECT_EQ(host_header(TlsEndpoint{"host", "80", {}}), "host:80");
}

TEST_F(HttpClient, ErrorStatus_KeepsItsBodyOutOfTheSink) {
  server_.on("GET /x", 500, "why");
  run([this]() -> Task<> {
    BodySink sink = [](std::string_view) -> Task<Status> {
      ADD_FAILURE() << "the sink was called";
      co_return Status{};
    };
    auto request = get("/x");
    auto response = co_await client_.stream(std::move(request), std::move(sink), Deadline::after(10s));
    EXPECT_TRUE(response);
    if (response) {
      EXPECT_EQ(response->body, "why");
    }
  });
}

TEST_F(HttpClient, SinkThatFails_EndsTheExchangeWithItsError) {
  server_.on("GET /x", 200, "body");
  run([this]() -> Task<> {
    BodySink sink = [](std::string_view) -> Task<Status> { co_return fail(ErrorCode::protocol, "not what I wanted"); };
    auto request = get("/x");
    auto response = co_await client_.stream(std::move(request), std::move(sink), Deadline::after(10s));
    EXPECT_FALSE(response);
    if (!response) {
      EXPECT_EQ(response.error().message, "not what I wanted");
    }
  });
}

TEST_F(HttpClient, ServerThatRefusesBeforeTheBodyEnds_IsHeard) {
  // The server of this test reads by hand, so that it can answer before the body has come.
  asio::local::stream_protocol::acceptor acceptor(io_, asio::local::stream_protocol::endpoint(server_.path() + ".raw"));
  run([this, &acceptor]() -> Task<> {
    TaskGroup tasks(io_.get_executor());
    tasks.spawn("refuse", [&acceptor]() -> Task<> {
      auto socket = co_await acceptor.async_accept(asio::use_awaitable);
      Peer peer(std::move(socket));
      co_await peer.receive();
      co_await peer.reply(404, "no such thing", "Connection: close\r\n");
    });
    Client client(io_.get_executor(), UnixEndpoint{server_.path() + ".raw"});
    const std::string large(32 << 20, 'x');
    auto request = post("/x", large);
    auto response = co_await client.send(std::move(request), Deadline::after(10s));
    EXPECT_TRUE(response) << response.error().message;
    if (response) {
      EXPECT_EQ(response->status, 404u);
    }
    co_await tasks.join();
  });
}

TEST_F(HttpClient, Upgrade_HandsOutTheStreamAndWhatWasReadAhead) {
  for (const char* head : {"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n"}) {
    const std::string target = head[9] == '1' ? "/now" : "/then";
    server_.on("POST " + target, [head](ReceivedRequest request, Peer& peer) -> Task<> {
      EXPECT_NE(request.head.find("Upgrade: tcp\r\n"), std::string::npos);
      EXPECT_NE(request.head.find("Connection: Upgrade\r\n"), std::string::npos);
      co_await peer.send(head + std::string("early"));
      const std::string heard = co_await peer.receive();
      co_await peer.send("heard " + heard);
      peer.hang_up();
    });
  }
  run([this]() -> Task<> {
    for (const char* target : {"/now", "/then"}) {
      auto request = post(target, "");
      auto upgrade = co_await client_.upgrade(std::move(request), "tcp", Deadline::after(10s));
      EXPECT_TRUE(upgrade && upgrade->stream);
      if (!upgrade || !upgrade->stream) co_return;
      EXPECT_EQ(upgrade->read_ahead, "early");
      auto written = co_await upgrade->stream->write_all("me", Deadline::after(10s));
      EXPECT_TRUE(written);
      std::string all;
      for (;;) {
        char room[16];
        auto count = co_await upgrade->stream->read_some(room, Deadline::after(10s));
        EXPECT_TRUE(count);
        if (!count || *count == 0) break;
        all.append(room, *count);
      }
      EXPECT_EQ(all, "heard me");
    }
  });
}

TEST_F(HttpClient, RefusedUpgrade_HasNoStreamAndSaysWhy) {
  server_.on("POST /x", 404, "no such container");
  run([this]() -> Task<> {
    auto request = post("/x", "");
    auto upgrade = co_await client_.upgrade(std::move(request), "tcp", Deadline::after(10s));
    EXPECT_TRUE(upgrade);
    if (!upgrade) co_return;
    EXPECT_FALSE(upgrade->stream);
    EXPECT_EQ(upgrade->response.body, "no such container");
  });
}

TEST_F(HttpClient, CancelledTask_EndsAndDropsItsConnection) {
  server_.on("GET /x", [](ReceivedRequest, Peer& peer) -> Task<> { co_await peer.receive(); });
  run([this]() -> Task<> {
    TaskGroup tasks(io_.get_executor());
    bool returned = false;
    tasks.spawn("asks", [this, &returned]() -> Task<> {
      co_await send(get("/x"), 1h);
      returned = true;
    });
    while (server_.requests().empty()) co_await pause_for(1ms);
    co_await tasks.shut_down();
    EXPECT_FALSE(returned);
  });
}

TEST_F(HttpClient, ClosedStream_EndsAPendingRead) {
  server_.on("POST /x", [](ReceivedRequest, Peer& peer) -> Task<> {
    co_await peer.send("HTTP/1.1 101 UPGRADED\r\n\r\n");
    co_await peer.receive();
  });
  run([this]() -> Task<> {
    auto request = post("/x", "");
    auto upgrade = co_await client_.upgrade(std::move(request), "tcp", Deadline::after(10s));
    EXPECT_TRUE(upgrade && upgrade->stream);
    TaskGroup tasks(io_.get_executor());
    bool ended = false;
    tasks.spawn("reads", [&]() -> Task<> {
      char room[16];
      auto count = co_await upgrade->stream->read_some(room, Deadline::never());
      EXPECT_FALSE(count);
      if (!count) {
        EXPECT_EQ(count.error().code, ErrorCode::cancelled);
      }
      ended = true;
    });
    co_await pause_for(1ms);
    upgrade->stream->close();
    co_await tasks.join();
    EXPECT_TRUE(ended);
  });
}

TEST_F(HttpClient, AbsentOrRefusingSocket_IsUnavailableAndNamed) {
  run([this]() -> Task<> {
    Client absent(io_.get_executor(), UnixEndpoint{"/nonexistent/x.sock"});
    auto request = get("/x");
    auto response = co_await absent.send(std::move(request), Deadline::after(10s));
    EXPECT_FALSE(response);
    if (!response) {
      EXPECT_EQ(response.error().code, ErrorCode::unavailable);
      EXPECT_NE(response.error().message.find("unix:///nonexistent/x.sock"), std::string::npos);
    }
    Client refusing(io_.get_executor(), TcpEndpoint{"127.0.0.1", "1"});
    request = get("/x");
    response = co_await refusing.send(std::move(request), Deadline::after(10s));
    EXPECT_FALSE(response);
    if (!response) {
      EXPECT_EQ(response.error().code, ErrorCode::unavailable);
    }
    Client nameless(io_.get_executor(), UnixEndpoint{std::string(200, 'x')});
    request = get("/x");
    response = co_await nameless.send(std::move(request), Deadline::after(10s));
    EXPECT_FALSE(response);
    if (!response) {
      EXPECT_EQ(response.error().code, ErrorCode::invalid_argument);
    }
  });
}

TEST_F(HttpClient, ListenerThatNeverAccepts_FailsAtTheDeadline) {
  const std::string path = server_.path() + ".full";
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  run([this, path]() -> Task<> {
    // The first fills the queue and waits for an answer, the second does not even get in.
    for (int i = 0; i < 2; ++i) {
      Client client(io_.get_executor(), UnixEndpoint{path});
      auto request = get("/x");
      TaskGroup tasks(io_.get_executor());
      auto response = co_await client.send(std::move(request), Deadline::after(100ms));
      EXPECT_FALSE(response);
      if (!response) {
        EXPECT_EQ(response.error().code, ErrorCode::timeout) << response.error().message;
      }
    }
  });
}

TEST_F(HttpClient, LocalTcp_Works) {
  asio::ip::tcp::acceptor acceptor(io_, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  run([this, &acceptor]() -> Task<> {
    TaskGroup tasks(io_.get_executor());
    tasks.spawn("answers", [&acceptor]() -> Task<> {
      auto socket = co_await acceptor.async_accept(asio::use_awaitable);
      std::string request(4096, '\0');
      co_await socket.async_read_some(asio::buffer(request), asio::use_awaitable);
      const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
      co_await asio::async_write(socket, asio::buffer(answer), asio::use_awaitable);
    });
    Client client(io_.get_executor(), TcpEndpoint{"localhost", std::to_string(acceptor.local_endpoint().port())});
    auto request = get("/x");
    auto response = co_await client.send(std::move(request), Deadline::after(10s));
    EXPECT_TRUE(response) << response.error().message;
    if (response) {
      EXPECT_EQ(response->body, "hi");
    }
    co_await tasks.join();
  });
}

}  // namespace
}  // namespace cloche::http
