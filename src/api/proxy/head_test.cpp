// What passes between clients and servers in sandboxes, and what does not.
#include "api/proxy/head.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::api {

using testing::HasSubstr;
using testing::Not;

namespace {

ProxyHead get(std::string target) {
  ProxyHead head;
  head.method = "GET";
  head.target = std::move(target);
  head.port = 8000;
  head.prefix = "/sessions/t/s/proxy/8000";
  return head;
}

std::string location_of(std::string location, std::uint16_t port = 8000) {
  const http::Fields fields{{"Location", std::move(location)}};
  return std::string(http::field_value(proxied_answer_fields(fields, "/p", port), "Location"));
}

}  // namespace

TEST(ReadPort, OnlyPorts_AreTaken) {
  EXPECT_EQ(read_port("1"), 1);
  EXPECT_EQ(read_port("65535"), 65535);
  for (const char* text : {"", "0", "65536", "-1", "80x", "+80", " 80", "99999999999999999999"}) {
    EXPECT_FALSE(read_port(text)) << text;
  }
}

TEST(ProxyHead, Request_NamesTheSandboxAsItsHost) {
  const std::string text = serialise_proxy_head(get("/a/b?c=d"));
  EXPECT_TRUE(text.starts_with("GET /a/b?c=d HTTP/1.1\r\nHost: localhost:8000\r\n")) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\n"));
  EXPECT_THAT(text, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(text, HasSubstr("X-Forwarded-Prefix: /sessions/t/s/proxy/8000\r\n"));
  EXPECT_THAT(text, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(text, Not(HasSubstr("Transfer-Encoding")));
}

TEST(ProxyHead, WhatProvesWhoTheClientIs_StaysHere) {
  ProxyHead head = get("/");
  head.fields = {{"Host", "cloche.example"}, {"authorization", "Bearer secret"},  {"Cookie", "id=secret"},
                 {"Accept", "text/html"},    {"Connection", "keep-alive, X-Hop"}, {"X-Hop", "1"},
                 {"TE", "trailers"},         {"Proxy-Authorization", "secret"},   {"Expect", "100-continue"},
                 {"Content-Length", "7"}};
  const std::string text = serialise_proxy_head(head);
  EXPECT_THAT(text, HasSubstr("Accept: text/html\r\n"));
  for (const char* gone : {"secret", "cloche.example", "keep-alive", "X-Hop", "TE:", "Expect", "Content-Length"}) {
    EXPECT_THAT(text, Not(HasSubstr(gone)));
  }
}

TEST(ProxyHead, Body_IsFramedOnce) {
  ProxyHead head = get("/");
  head.method = "POST";
  head.has_body = true;
  EXPECT_THAT(serialise_proxy_head(head), HasSubstr("Transfer-Encoding: chunked\r\n"));
  head.length = 12;
  EXPECT_THAT(serialise_proxy_head(head), HasSubstr("Content-Length: 12\r\n"));
  EXPECT_THAT(serialise_proxy_head(head), Not(HasSubstr("Transfer-Encoding")));
}

TEST(ProxyHead, WebSocket_IsAskedForAnew) {
  ProxyHead head = get("/");
  head.upgrades = true;
  head.fields = {{"Connection", "keep-alive, Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Key", "k"}};
  const std::string text = serialise_proxy_head(head);
  EXPECT_THAT(text, HasSubstr("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
  EXPECT_THAT(text, HasSubstr("Sec-WebSocket-Key: k\r\n"));
  EXPECT_THAT(text, Not(HasSubstr("keep-alive")));
}

TEST(ProxiedAnswer, WhatSpeaksForOurOrigin_IsLeftOut) {
  const http::Fields fields{{"Content-Type", "text/html"},
                            {"Set-Cookie", "a=b"},
                            {"Clear-Site-Data", "\"*\""},
                            {"strict-transport-security", "max-age=1"},
                            {"Access-Control-Allow-Origin", "*"},
                            {"Alt-Svc", "h2=\"evil:443\""},
                            {"Transfer-Encoding", "chunked"},
                            {"Date", "now"},
                            {"X-Request-Id", "1"},
                            {"Content-Security-Policy", "default-src 'self'"}};
  const http::Fields passed = proxied_answer_fields(fields, "/p", 8000);
  EXPECT_THAT(passed, testing::UnorderedElementsAre(testing::Pair("Content-Type", "text/html"),
                                                    testing::Pair("Content-Security-Policy", "default-src 'self'"),
                                                    testing::Pair("Content-Security-Policy", "sandbox"),
                                                    testing::Pair("X-Content-Type-Options", "nosniff"),
                                                    testing::Pair("Cross-Origin-Resource-Policy", "same-origin")));
}

TEST(ProxiedAnswer, Location_StaysBelowThePrefix) {
  EXPECT_EQ(location_of("/login?x=1"), "/p/login?x=1");
  EXPECT_EQ(location_of("login"), "login");
  EXPECT_EQ(location_of("http://localhost:8000/a"), "/p/a");
  EXPECT_EQ(location_of("http://127.0.0.1:8000"), "/p/");
  EXPECT_EQ(location_of("http://localhost/a", 80), "/p/a");
  EXPECT_EQ(location_of("http://localhost:80001/a"), "http://localhost:80001/a");
  EXPECT_EQ(location_of("https://elsewhere.example/"), "https://elsewhere.example/");
  EXPECT_EQ(location_of("//elsewhere.example/"), "//elsewhere.example/");
  EXPECT_EQ(location_of("http://localhost:8000//elsewhere.example/"), "//elsewhere.example/");
}

TEST(ProxiedUpgrade, OnlyTheHandshake_IsPassedBack) {
  const http::Fields fields{{"Upgrade", "websocket"},
                            {"Connection", "Upgrade"},
                            {"Sec-WebSocket-Accept", "a"},
                            {"Set-Cookie", "a=b"},
                            {"Sec-WebSocket-Protocol", "chat"}};
  EXPECT_THAT(proxied_upgrade_fields(fields),
              testing::ElementsAre(testing::Pair("Upgrade", "websocket"), testing::Pair("Sec-WebSocket-Accept", "a"),
                                   testing::Pair("Sec-WebSocket-Protocol", "chat")));
}

}  // namespace cloche::api
