// Bytes that no client should send, and what each gets.
#include "http/server/testing/served.hpp"

namespace cloche::http {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::Served;

enum class Afterwards { closed, open };

struct Case {
  const char* name;
  std::string bytes;
  unsigned status;
  Afterwards afterwards;
};

const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
const std::string chunks = post + "Transfer-Encoding: chunked\r\n\r\n";

const Case cases[] = {
    {"plain", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", 200, Afterwards::open},
    {"body", post + "Content-Length: 3\r\n\r\nabc", 200, Afterwards::open},
    {"chunked body", chunks + "3\r\nabc\r\n0\r\n\r\n", 200, Afterwards::open},
    {"chunked body with trailers", chunks + "3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n", 200, Afterwards::open},
    {"empty chunked body", chunks + "0\r\n\r\n", 200, Afterwards::open},
    {"asked to close", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 200, Afterwards::closed},
    {"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", 200, Afterwards::closed},
    {"HTTP/1.0 kept", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, Afterwards::open},
    {"length and chunks", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
     Afterwards::closed},
    {"two lengths", post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400, Afterwards::closed},
    {"the same length twice", post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400, Afterwards::closed},
    {"list of lengths", post + "Content-Length: 3, 3\r\n\r\nabc", 400, Afterwards::closed},
    {"odd length", post + "Content-Length: +3\r\n\r\nabc", 400, Afterwards::closed},
    {"gzip", post + "Transfer-Encoding: gzip\r\n\r\n", 400, Afterwards::closed},
    {"gzip, chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, Afterwards::closed},
    {"chunked, gzip", post + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400, Afterwards::closed},
    {"chunked twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
     Afterwards::closed},
    {"chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, Afterwards::closed},
    {"folded field", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 400, Afterwards::closed},
    {"bare line feed", "GET / HTTP/1.1\nHost: h\n\n", 400, Afterwards::closed},
    {"bare carriage return", "GET / HTTP/1.1\rHost: h\r\n\r\n", 400, Afterwards::closed},
    {"NUL in a field", "GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n"s, 400, Afterwards::closed},
    {"blank before the colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400, Afterwards::closed},
    {"no Host", "GET / HTTP/1.1\r\n\r\n", 400, Afterwards::closed},
    {"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, Afterwards::closed},
    {"method that is none", "G=T / HTTP/1.1\r\nHost: h\r\n\r\n", 400, Afterwards::closed},
    {"CONNECT", "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n", 400, Afterwards::closed},
    {"URL of another host", "GET http://other/ HTTP/1.1\r\nHost: h\r\n\r\n", 400, Afterwards::closed},
    {"URL of this host", "GET http://h/x HTTP/1.1\r\nHost: h\r\n\r\n", 200, Afterwards::open},
    {"dots", "GET /a/%2e%2e/b HTTP/1.1\r\nHost: h\r\n\r\n", 400, Afterwards::closed},
    {"NUL in the path", "GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400, Afterwards::closed},
    {"path that is not UTF-8", "GET /%ff HTTP/1.1\r\nHost: h\r\n\r\n", 400, Afterwards::closed},
    {"chunk size that is none", chunks + "zz\r\nabc\r\n0\r\n\r\n", 400, Afterwards::closed},
    {"negative chunk size", chunks + "-3\r\nabc\r\n0\r\n\r\n", 400, Afterwards::closed},
    {"chunk size without end", chunks + "fffffffffffffffff\r\n", 400, Afterwards::closed},
    {"chunk longer than said", chunks + "3\r\nabcd\r\n0\r\n\r\n", 400, Afterwards::closed},
    {"chunk ended by a bare line feed", chunks + "3\nabc\n0\n\n", 400, Afterwards::closed},
    {"line without end", "GET /" + std::string(20'000, 'x'), 414, Afterwards::closed},
    {"field without end", "GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(20'000, 'x'), 431, Afterwards::closed},
    {"body too long", post + "Content-Length: 2000000\r\n\r\n", 413, Afterwards::closed},
    {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, Afterwards::closed},
    {"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s, 400, Afterwards::closed},
    {"odd expectation", post + "Content-Length: 1\r\nExpect: x\r\n\r\n", 417, Afterwards::closed},
};

// Reads the body and answers; a body that cannot be read is left to the server.
Task<> echo(Exchange& exchange) {
  auto body = co_await exchange.read_body(mib(1));
  if (!body) co_return;
  Fields fields;
  co_await exchange.respond(200, std::move(fields), std::move(*body));
}

class NastyBytes : public Served {
 protected:
  NastyBytes() {
    handler_ = echo;
    options_.limits.linger = 1s;
  }

  Task<> check(const Case& given, std::size_t piece) {
    auto client = co_await connect();
    for (std::size_t sent = 0; sent < given.bytes.size(); sent += piece) {
      co_await client->send(given.bytes.substr(sent, piece));
    }
    const Response answer = co_await client->answer();
    EXPECT_EQ(answer.status, given.status) << given.name;
    EXPECT_FALSE(answer.field("X-Request-Id").empty()) << given.name;
    co_await client->send("GET /again HTTP/1.1\r\nHost: h\r\n\r\n");
    const Response again = co_await client->answer();
    EXPECT_EQ(again.status, given.afterwards == Afterwards::open ? 200u : 0u) << given.name;
  }
};

TEST_F(NastyBytes, EachCaseAtOnce_GetsItsStatus) {
  run([this]() -> Task<> {
    for (const Case& each : cases) co_await check(each, each.bytes.size());
  });
}

TEST_F(NastyBytes, EachCaseInSmallPieces_GetsItsStatus) {
  run([this]() -> Task<> {
    for (const Case& each : cases) co_await check(each, each.bytes.size() > 1000 ? 997 : 3);
  });
}

TEST_F(NastyBytes, RequestHiddenInABody_IsNotServed) {
  int served = 0;
  handler_ = [&](Exchange& exchange) -> Task<> {
    ++served;
    co_await echo(exchange);
  };
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n";
  run([&]() -> Task<> {
    auto client = co_await connect();
    co_await client->send(post + "Content-Length: " + std::to_string(hidden.size()) + "\r\n\r\n" + hidden);
    const Response answer = co_await client->answer();
    EXPECT_EQ(answer.body, hidden);
    auto other = co_await connect();
    co_await other->send(post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden);
    const std::string all = co_await other->rest();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 400 ")) << all;
    EXPECT_EQ(all.find("HTTP/1.1", 1), std::string::npos);
  });
  EXPECT_EQ(served, 1);
}

TEST_F(NastyBytes, ManyGarbageConnections_LeaveTheServerWell) {
  run([this]() -> Task<> {
    for (int i = 0; i < 100; ++i) {
      auto client = co_await connect();
      co_await client->send(std::string(1 + static_cast<std::size_t>(i) * 7, static_cast<char>(i)));
      if (i % 2 == 0) client->reset();
    }
    const Response answer = co_await ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(answer.status, 200u);
  });
}

}  // namespace
}  // namespace cloche::http
