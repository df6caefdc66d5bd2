// Requests and answers on kept connections: order, bodies, streams, and handlers that misbehave.
#include "core/async/task_group.hpp"
#include "http/client.hpp"
#include "http/server/request/json_body.hpp"
#include "http/server/routed.hpp"
#include "http/server/testing/served.hpp"

namespace cloche::http {
namespace {

using namespace std::chrono_literals;
using testing::Served;

const std::string get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

std::string get_path(int number) { return "GET /" + std::to_string(number) + " HTTP/1.1\r\nHost: h\r\n\r\n"; }

class ServedExchange : public Served {
 protected:
  // A handler of one line.
  static Task<> say(Exchange& exchange, std::string text) {
    Fields fields;
    co_await exchange.respond(200, std::move(fields), std::move(text));
  }
};

TEST_F(ServedExchange, PipelinedRequests_AreAnsweredInOrderOneAtATime) {
  int busy = 0;
  handler_ = [&](Exchange& exchange) -> Task<> {
    EXPECT_EQ(++busy, 1);
    // The first takes the longest.
    co_await pause_for(exchange.target().path == "/0" ? 20ms : 0ms);
    co_await say(exchange, exchange.target().path);
    --busy;
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    std::string all;
    for (int i = 0; i < 50; ++i) all += get_path(i);
    co_await client->send(all);
    for (int i = 0; i < 50; ++i) {
      const Response answer = co_await client->answer();
      EXPECT_EQ(answer.body, "/" + std::to_string(i));
    }
    EXPECT_EQ(server_->counts().connections, 1u);
  });
}

TEST_F(ServedExchange, MorePipelinedThanTheBufferHolds_AreAllAnswered) {
  run([&]() -> Task<> {
    auto client = co_await connect();
    TaskGroup tasks(io_.get_executor());
    tasks.spawn("send", [&]() -> Task<> {
      std::string all;
      for (int i = 0; i < 8000; ++i) all += get_path(i);
      co_await client->send(all);
    });
    for (int i = 0; i < 8000; ++i) {
      const Response answer = co_await client->answer();
      EXPECT_EQ(answer.body, "GET /" + std::to_string(i));
      if (answer.status != 200) break;
    }
    co_await tasks.join();
  });
}

TEST_F(ServedExchange, TwoHundredConnectionsAtOnce_AreAllServed) {
  int busy = 0;
  int most = 0;
  handler_ = [&](Exchange& exchange) -> Task<> {
    most = std::max(most, ++busy);
    if (busy == 200) changed_.notify();
    while (most < 200) co_await changed_.wait();
    --busy;
    co_await say(exchange, exchange.target().path);
  };
  run([&]() -> Task<> {
    TaskGroup tasks(io_.get_executor());
    int right = 0;
    for (int i = 0; i < 200; ++i) {
      tasks.spawn("client", [&, i]() -> Task<> {
        auto client = co_await connect();
        for (int round = 0; round < 3; ++round) {
          co_await client->send(get_path(i));
          const Response answer = co_await client->answer();
          right += answer.body == "/" + std::to_string(i) ? 1 : 0;
        }
      });
    }
    co_await tasks.join();
    EXPECT_EQ(right, 600);
    EXPECT_EQ(most, 200);
  });
}

TEST_F(ServedExchange, ClientThatExpectsToBeAsked_IsAskedWhenTheHandlerReads) {
  handler_ = [&](Exchange& exchange) -> Task<> {
    if (exchange.target().path == "/no") {
      co_await exchange.refuse(403, "no");
      co_return;
    }
    auto body = co_await exchange.read_body(kib(1));
    co_await say(exchange, body ? *body : body.error().message);
  };
  const std::string head = " HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send("PUT /yes" + head);
    const Response go_on = co_await client->answer();
    EXPECT_EQ(go_on.status, 100u);
    co_await client->send("abc");
    const Response answer = co_await client->answer();
    EXPECT_EQ(answer.body, "abc");
    // Rejected before 100 Continue: it is unknown whether the body will follow, so the connection ends.
    co_await client->send("PUT /no" + head);
    const Response refused = co_await client->answer();
    EXPECT_EQ(refused.status, 403u);
    EXPECT_EQ(refused.field("Connection"), "close");
    const bool ends = co_await client->ends();
    EXPECT_TRUE(ends);
  });
}

TEST_F(ServedExchange, Head_GetsTheFieldsOfGetWithoutTheBody) {
  handler_ = [&](Exchange& exchange) -> Task<> {
    if (exchange.target().path == "/stream") {
      Fields fields;
      co_await exchange.begin(200, std::move(fields));
      co_await exchange.write("piece");
      co_await exchange.end();
      co_return;
    }
    co_await say(exchange, "twelve bytes");
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n" + get);
    const Response plain = co_await client->answer_without_body();
    EXPECT_EQ(plain.field("Content-Length"), "12");
    const Response streamed = co_await client->answer_without_body();
    EXPECT_EQ(streamed.status, 200u);
    const Response body = co_await client->answer();
    EXPECT_EQ(body.body, "twelve bytes");
  });
}

TEST_F(ServedExchange, LargeBodiesBothWays_ArriveWhole) {
  handler_ = [&](Exchange& exchange) -> Task<> {
    exchange.allow_body(mib(32));
    std::vector<std::string> pieces;
    for (;;) {
      auto piece = co_await exchange.read_some();
      EXPECT_TRUE(piece);
      if (!piece || piece->empty()) break;
      EXPECT_LE(piece->size(), 64u << 10);
      pieces.push_back(std::move(*piece));
    }
    Fields fields;
    co_await exchange.begin(200, std::move(fields));
    for (const auto& piece : pieces) co_await exchange.write(piece);
    co_await exchange.end();
  };
  std::string sent(16 << 20, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 + i / 255);
  run([&]() -> Task<> {
    TcpEndpoint endpoint{"127.0.0.1", std::to_string(port())};
    Client client(io_.get_executor(), endpoint);
    for (const bool chunked : {false, true}) {
      Request request;
      request.method = "POST";
      request.target = "/";
      request.body_limit = mib(32);
      if (chunked) {
        request.source = [&sent, at = std::size_t{0}]() mutable -> Task<Result<std::string>> {
          std::string piece = sent.substr(std::min(at, sent.size()), 99'999);
          at += piece.size();
          co_return piece;
        };
      } else {
        request.body = sent;
      }
      auto response = co_await client.send(std::move(request), Deadline::after(20s));
      EXPECT_TRUE(response) << response.error().message;
      EXPECT_TRUE(response && response->body == sent);
    }
    EXPECT_EQ(server_->counts().connections, 1u);
  });
}

TEST_F(ServedExchange, AnswerOfKnownSize_MustHaveIt) {
  handler_ = [&](Exchange& exchange) -> Task<> {
    Fields fields;
    co_await exchange.begin(200, std::move(fields), Bytes{6});
    co_await exchange.write("abc");
    if (exchange.target().path == "/short") {
      auto ended = co_await exchange.end();
      EXPECT_FALSE(ended);
      co_return;
    }
    co_await exchange.write("def");
    auto too_much = co_await exchange.write("g");
    EXPECT_FALSE(too_much);
    co_await exchange.end();
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(get);
    const Response answer = co_await client->answer();
    EXPECT_EQ(answer.body, "abcdef");
    co_await client->send("GET /short HTTP/1.1\r\nHost: h\r\n\r\n");
    const Response cut = co_await client->answer();
    EXPECT_EQ(cut.status, 0u);
  });
}

TEST_F(ServedExchange, OldClients_GetStreamsThatEndWithTheConnection) {
  handler_ = [&](Exchange& exchange) -> Task<> {
    Fields fields;
    co_await exchange.begin(200, std::move(fields));
    co_await exchange.write("a");
    co_await exchange.write("b");
    co_await exchange.end();
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const std::string all = co_await client->rest();
    EXPECT_TRUE(all.ends_with("\r\n\r\nab")) << all;
    EXPECT_EQ(all.find("chunked"), std::string::npos);
  });
}

TEST_F(ServedExchange, HandlerThatThrowsOrSaysNothing_Makes500WithoutALeak) {
  handler_ = [&](Exchange& exchange) -> Task<> {
    const std::string path = exchange.target().path;
    if (path == "/throws") throw std::runtime_error("the secret of the house");
    if (path == "/half") {
      Fields fields;
      co_await exchange.begin(200, std::move(fields));
      co_await exchange.write("half");
      throw std::runtime_error("in the middle");
    }
    if (path == "/bad") {
      Fields fields;
      fields.emplace_back("X", "1\r\nSet-Cookie: forged");
      auto sent = co_await exchange.respond(200, std::move(fields), "");
      EXPECT_FALSE(sent);
    }
  };
  options_.error_body = [](unsigned status, std::string_view why, std::string_view id) {
    return ErrorBody{"application/json", std::to_string(status) + "|" + std::string(why) + "|" + std::string(id)};
  };
  run([&]() -> Task<> {
    auto client = co_await connect();
    for (const char* path : {"/throws", "/nothing", "/bad"}) {
      co_await client->send(std::string("GET ") + path + " HTTP/1.1\r\nHost: h\r\nX-Request-Id: mine-7\r\n\r\n");
      const Response answer = co_await client->answer();
      EXPECT_EQ(answer.status, 500u);
      EXPECT_EQ(answer.body, "500|internal error|mine-7");
      EXPECT_EQ(answer.field("Content-Type"), "application/json");
      EXPECT_EQ(answer.field("X-Request-Id"), "mine-7");
    }
    co_await client->send("GET /half HTTP/1.1\r\nHost: h\r\n\r\n");
    const Response cut = co_await client->answer();
    EXPECT_EQ(cut.status, 0u);
    EXPECT_EQ(server_->counts().by_class[5], 3u);
  });
}

TEST_F(ServedExchange, IdThatIsNotSane_IsReplaced) {
  const std::vector<std::string> ids{"a b", "\"><script>", "", std::string(65, 'x')};
  run([&]() -> Task<> {
    for (const std::string& id : ids) {
      const Response answer = co_await ask("GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: " + id + "\r\n\r\n");
      EXPECT_EQ(answer.field("X-Request-Id").size(), 16u);
    }
  });
}

TEST_F(ServedExchange, BodyTheHandlerLeft_IsDroppedOrEndsTheConnection) {
  options_.limits.drained = kib(8);
  options_.limits.linger = 200ms;
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4096\r\n\r\n" + std::string(4096, 'x') + get);
    const Response first = co_await client->answer();
    EXPECT_EQ(first.body, "POST /a");
    const Response second = co_await client->answer();
    EXPECT_EQ(second.body, "GET /");
    co_await client->send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x') +
                          get);
    const Response last = co_await client->answer();
    EXPECT_EQ(last.body, "POST /b");
    EXPECT_EQ(last.field("Connection"), "close");
    const bool ends = co_await client->ends();
    EXPECT_TRUE(ends);
    auto other = co_await connect();
    co_await other->send("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    const Response before_the_body = co_await other->answer();
    EXPECT_EQ(before_the_body.body, "POST /c");
    std::string chunks;
    for (int i = 0; i < 10; ++i) chunks += "400\r\n" + std::string(0x400, 'x') + "\r\n";
    co_await other->send(chunks);
    const bool other_ends = co_await other->ends();
    EXPECT_TRUE(other_ends);
  });
}

TEST_F(ServedExchange, ChunkedBodyTooLong_Is413WhateverItAnnounced) {
  handler_ = [&](Exchange& exchange) -> Task<> {
    auto body = co_await exchange.read_body({10});
    EXPECT_FALSE(body);
    if (!body) {
      EXPECT_EQ(body.error().code, ErrorCode::limit_reached);
    }
  };
  run([&]() -> Task<> {
    const Response answer =
        co_await ask("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n");
    EXPECT_EQ(answer.status, 413u);
  });
}

TEST_F(ServedExchange, TooManyRequestsOnOneConnection_EndIt) {
  options_.limits.requests_per_connection = 2;
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(get + get + get);
    const Response first = co_await client->answer();
    EXPECT_EQ(first.field("Connection"), "");
    const Response second = co_await client->answer();
    EXPECT_EQ(second.field("Connection"), "close");
    const bool ends = co_await client->ends();
    EXPECT_TRUE(ends);
  });
}

TEST_F(ServedExchange, Routes_AnswerOrSayWhatIsThere) {
  Router<RouteHandler> routes;
  routes.add("GET", "/greet/{name}", [](Exchange& exchange, const PathParameters& parameters) -> Task<> {
    co_await say(exchange, "hello " + std::string(parameters["name"]));
  });
  routes.add("POST", "/json", [](Exchange& exchange, const PathParameters&) -> Task<> {
    auto json = co_await read_json(exchange);
    if (json) {
      co_await respond_json(exchange, 200, *json);
    } else {
      co_await exchange.refuse(422, json.error().message);
    }
  });
  handler_ = serve_routes(std::move(routes));
  run([&]() -> Task<> {
    const Response greeting = co_await ask("GET /greet/you HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(greeting.body, "hello you");
    const Response missing = co_await ask("GET /what HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(missing.status, 404u);
    const Response other = co_await ask("DELETE /json HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(other.status, 405u);
    EXPECT_EQ(other.field("Allow"), "POST");
    const std::string head = "POST /json HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n";
    const Response json = co_await ask(head + "Content-Type: application/json\r\n\r\n{\"a\":1}");
    EXPECT_EQ(json.body, "{\"a\":1}");
    const Response untyped = co_await ask(head + "\r\n{\"a\":1}");
    EXPECT_EQ(untyped.status, 422u);
  });
}

TEST_F(ServedExchange, Requests_AreToldToTheAccessLog) {
  std::vector<std::string> lines;
  options_.access_log = [&](const AccessRecord& record) {
    lines.push_back(std::string(record.method) + " " + std::string(record.path) + " " + std::to_string(record.status));
    EXPECT_GT(record.bytes_in + record.bytes_out, 0u);
    EXPECT_TRUE(record.peer.describe().starts_with("127.0.0.1:"));
  };
  run([&]() -> Task<> {
    co_await ask("GET /a?token=secret HTTP/1.1\r\nHost: h\r\n\r\n");
    co_await ask("garbage\r\n\r\n");
    const ServerCounts counts = server_->counts();
    EXPECT_EQ(counts.by_class[2], 1u);
    EXPECT_EQ(counts.by_class[4], 1u);
  });
  EXPECT_EQ(lines, (std::vector<std::string>{"GET /a 200", "  400"}));
}

}  // namespace
}  // namespace cloche::http
