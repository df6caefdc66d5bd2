#include "http/server/request/request_head.hpp"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

// Feeds the bytes in pieces of one size, as a connection does.
OrRequestError<RequestHead> read(std::string_view bytes, std::size_t piece, HeadLimits limits = {}) {
  HeadFinder finder(limits);
  for (std::size_t have = 0; have < bytes.size();) {
    have = std::min(bytes.size(), have + piece);
    auto end = finder.find(bytes.substr(0, have));
    if (!end) return std::unexpected(end.error());
    if (*end) return parse_head(bytes.substr(0, **end));
  }
  return refuse(0, "not complete");
}

unsigned status_of(std::string_view bytes, HeadLimits limits = {}) {
  const auto whole = read(bytes, bytes.size(), limits);
  const auto bytewise = read(bytes, 1, limits);
  EXPECT_EQ(whole.has_value(), bytewise.has_value()) << bytes;
  if (!whole && !bytewise) {
    EXPECT_EQ(whole.error().status, bytewise.error().status) << bytes;
  }
  return whole ? 200 : whole.error().status;
}

TEST(RequestHead, EveryPieceSize_YieldsTheSame) {
  const std::string_view bytes =
      "PUT /a%20b/c?x=1&y HTTP/1.1\r\nHost: h:80\r\nX-Thing:  two words\t\r\nContent-Length: 12\r\n\r\nbody";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const auto head = read(bytes, piece);
    ASSERT_TRUE(head) << piece << ": " << head.error().why;
    EXPECT_EQ(head->method, "PUT");
    EXPECT_EQ(head->target.path, "/a%20b/c");
    EXPECT_EQ(head->target.query, "x=1&y");
    EXPECT_EQ(head->target.segments, (std::vector<std::string>{"a b", "c"}));
    EXPECT_EQ(field_value(head->fields, "x-thing"), "two words");
    EXPECT_EQ(head->framing.length, 12u);
    EXPECT_TRUE(head->keeps_alive);
  }
}

TEST(RequestHead, OneEmptyLineInFront_IsSkippedAndTwoAreNot) {
  EXPECT_EQ(status_of("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 200u);
  EXPECT_EQ(status_of("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400u);
}

TEST(RequestHead, LineThatIsNoRequest_IsRefused) {
  for (const std::string_view line : {"GET /",
                                      "GET",
                                      "/ HTTP/1.1",
                                      "GET  / HTTP/1.1",
                                      "GET / HTTP/1.1 ",
                                      " GET / HTTP/1.1",
                                      "G(T / HTTP/1.1",
                                      "GET / http/1.1",
                                      "GET / HTTP/1.10",
                                      "GET / HTTP/+1.1",
                                      "GET /a b HTTP/1.1",
                                      "GET\t/ HTTP/1.1",
                                      "GET /\x80 HTTP/1.1",
                                      "GET /a#b HTTP/1.1",
                                      "GET a HTTP/1.1",
                                      "GET * HTTP/1.1",
                                      "GET h:80 HTTP/1.1",
                                      "CONNECT h:80 HTTP/1.1",
                                      "GET ftp://h/ HTTP/1.1",
                                      "GET http://other/ HTTP/1.1",
                                      "GET http://h@h/ HTTP/1.1",
                                      "AVERYLONGMETHODTHATNOBODYEVERHEARDOF / HTTP/1.1"}) {
    EXPECT_EQ(status_of(std::string(line) + "\r\nHost: h\r\n\r\n"), 400u) << line;
  }
}

TEST(RequestHead, OtherVersions_AreNotSpoken) {
  EXPECT_EQ(status_of("GET / HTTP/1.2\r\nHost: h\r\n\r\n"), 505u);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505u);
}

TEST(RequestHead, UrlOfThisServer_IsTakenForItsPath) {
  for (const std::string_view target : {"http://H:80", "http://h:80/", "https://h:80/"}) {
    const std::string bytes = "GET " + std::string(target) + " HTTP/1.1\r\nHost: h:80\r\n\r\n";
    const auto head = read(bytes, bytes.size());
    ASSERT_TRUE(head) << target;
    EXPECT_EQ(head->target.path, "/");
  }
  EXPECT_EQ(status_of("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), 200u);
}

TEST(RequestHead, FieldsThatTwoReadersTakeInTwoWays_AreRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view fields : {"X : 1\r\n"sv,
                                        "X\t: 1\r\n"sv,
                                        " X: 1\r\n"sv,
                                        "X: 1\r\n 2\r\n"sv,
                                        "X: 1\r\n\t2\r\n"sv,
                                        "X\r\n"sv,
                                        ": 1\r\n"sv,
                                        "X: 1\n"sv,
                                        "X: 1\r"sv,
                                        "X: 1\rY: 2\r\n"sv,
                                        "X: a\0b\r\n"sv,
                                        "X\0: 1\r\n"sv,
                                        "X: \x7f\r\n"sv,
                                        "X: \x01\r\n"sv,
                                        "X(: 1\r\n"sv,
                                        "\xc3\xa9: 1\r\n"sv,
                                        "Host: h\r\n"sv,
                                        "Host: i\r\n"sv,
                                        "Authorization: a\r\nauthorization: b\r\n"sv,
                                        "Content-Type: a\r\nContent-Type: a\r\n"sv}) {
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n"), 400u) << fields;
  }
}

TEST(RequestHead, HostThatIsMissingOrNone_IsRefused) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 400u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), 200u);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200u);
}

TEST(RequestHead, LengthsThatAreNotOneNumber_AreRefused) {
  for (const std::string_view fields : {"Content-Length: 5\r\nContent-Length: 5\r\n",
                                        "Content-Length: 5\r\nContent-Length: 6\r\n",
                                        "Content-Length: 5, 5\r\n",
                                        "Content-Length: +5\r\n",
                                        "Content-Length: -5\r\n",
                                        "Content-Length: 0x5\r\n",
                                        "Content-Length: 5 5\r\n",
                                        "Content-Length:\r\n",
                                        "Content-Length: 5;\r\n",
                                        "Content-Length: 99999999999999999999999\r\n",
                                        "Content-Length: 18446744073709551616\r\n",
                                        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                                        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                                        "Transfer-Encoding: gzip\r\n",
                                        "Transfer-Encoding: gzip, chunked\r\n",
                                        "Transfer-Encoding: chunked, gzip\r\n",
                                        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                                        "Transfer-Encoding: chunked, chunked\r\n",
                                        "Transfer-Encoding: identity\r\n",
                                        "Transfer-Encoding:\r\n",
                                        "Transfer-Encoding: xchunked\r\n",
                                        "Transfer-Encoding: \x0b"
                                        "chunked\r\n",
                                        "Transfer-Encoding: \"chunked\"\r\n"}) {
    EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\n" + std::string(fields) + "\r\n"), 400u) << fields;
  }
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400u);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"), 200u);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 005\r\n\r\n"), 200u);
}

TEST(RequestHead, TooMuchOfIt_IsRefusedBeforeItsEnd) {
  HeadLimits limits;
  limits.size = {256};
  limits.request_line = {64};
  limits.fields = 4;
  EXPECT_EQ(status_of("GET /" + std::string(100, 'x'), limits), 414u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nX: " + std::string(300, 'x'), limits), 431u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", limits), 200u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n", limits), 431u);
}

TEST(RequestHead, BytesOfAnotherProtocol_AreRefusedAtOnce) {
  using namespace std::string_view_literals;
  EXPECT_EQ(status_of("\x16\x03\x01\x02\x00\x01\x00"sv), 400u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\n"), 400u);
}

TEST(RequestHead, Connection_TellsWhetherMoreWillCome) {
  const auto keeps = [](std::string_view version, std::string_view fields) {
    const std::string bytes = "GET / HTTP/" + std::string(version) + "\r\nHost: h\r\n" + std::string(fields) + "\r\n";
    const auto head = read(bytes, bytes.size());
    return head && head->keeps_alive;
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_FALSE(keeps("1.1", "Connection: Close\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: foo, close\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Connection: Keep-Alive\r\n"));
}

TEST(RequestHead, Expectations_AreKnownOrRefused) {
  const std::string start = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n";
  const std::string expects = start + "Expect: 100-Continue\r\n\r\n";
  const auto head = read(expects, expects.size());
  ASSERT_TRUE(head);
  EXPECT_TRUE(head->expects_continue);
  EXPECT_EQ(status_of(start + "Expect: miracles\r\n\r\n"), 417u);
}

// As a proxy reads it.
OrRequestError<RequestHead> read_as_proxy(std::string_view bytes) {
  HeadFinder finder(HeadLimits{});
  auto end = finder.find(bytes);
  if (!end) return std::unexpected(end.error());
  if (!*end) return refuse(0, "not complete");
  return parse_head(bytes.substr(0, **end), Role::proxy);
}

TEST(ProxyHead, TargetsOfOtherServers_HaveAnAuthority) {
  const auto absolute = read_as_proxy("GET HTTP://a.org:8080/x/%ff/../y?q=1 HTTP/1.1\r\nHost: a.org:8080\r\n\r\n");
  ASSERT_TRUE(absolute) << absolute.error().why;
  EXPECT_EQ(absolute->authority, "a.org:8080");
  EXPECT_EQ(absolute->target.path, "/x/%ff/../y");
  EXPECT_EQ(absolute->target.query, "q=1");
  const auto bare = read_as_proxy("GET http://a.org?q HTTP/1.1\r\nHost: a.org\r\n\r\n");
  ASSERT_TRUE(bare) << bare.error().why;
  EXPECT_EQ(bare->target.path, "/");
  EXPECT_EQ(bare->target.query, "q");
  const auto tunnel = read_as_proxy("CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(tunnel) << tunnel.error().why;
  EXPECT_EQ(tunnel->authority, "[2001:db8::1]:443");
  const auto own = read_as_proxy("GET /x HTTP/1.1\r\nHost: a.org\r\n\r\n");
  ASSERT_TRUE(own) << own.error().why;
  EXPECT_EQ(own->authority, "");
}

TEST(ProxyHead, OtherTargets_AreRefused) {
  for (const char* line : {"GET https://a.org/", "GET ftp://a.org/", "GET a.org:80", "GET http:///x",
                           "GET http://u@a.org/", "GET http://a.org\\b/", "GET http://a.org/#f",
                           "CONNECT http://a.org:443", "CONNECT /x", "CONNECT u@a.org:443", "GET *"}) {
    const auto head = read_as_proxy(std::string(line) + " HTTP/1.1\r\nHost: a.org\r\n\r\n");
    ASSERT_FALSE(head) << line;
    EXPECT_EQ(head.error().status, 400u) << line;
  }
}

TEST(ProxyHead, ServerThatIsNoProxy_HasNoTunnels) {
  EXPECT_EQ(status_of("CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\n\r\n"), 400u);
  EXPECT_EQ(status_of("GET http://b.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n"), 400u);
}

}  // namespace
}  // namespace cloche::http
